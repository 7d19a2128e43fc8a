# SPDX-License-Identifier: Apache-2.0
"""Audits in files: the first of the two observations that a plan needs may be kept in one."""

from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.audit.audit import Audit


def save(result: Audit, path: Path) -> None:
    """Keep an audit in a file. Raises FileUnwritable."""
    files.write(path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")


def load(path: Path) -> Audit:
    """An audit that was kept. Raises FileUnreadable."""
    with files.reading(path, "audit"):
        return msgspec.json.decode(path.read_bytes(), type=Audit)
