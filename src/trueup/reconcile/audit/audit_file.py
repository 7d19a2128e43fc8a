# SPDX-License-Identifier: Apache-2.0
"""Audits in files: the first of the two observations that a plan needs may be kept in one."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.audit.audit import Audit


@dataclass(eq=False)
class AuditUnreadable(Exception):
    """The file is not there, or holds no audit."""

    path: str
    reason: str


def save(result: Audit, path: Path) -> None:
    """Keep an audit in a file. Raises FileUnwritable."""
    files.write(path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")


def load(path: Path) -> Audit:
    """An audit that was kept. Raises AuditUnreadable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Audit)
    except OSError as error:
        raise AuditUnreadable(str(path), error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AuditUnreadable(str(path), f"it is not an audit ({error})") from error
