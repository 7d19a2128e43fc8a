# SPDX-License-Identifier: Apache-2.0
"""Audits in files: a file may keep the first of the two observations that a plan needs."""

from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.audit.audit import Audit


def save(result: Audit, path: Path) -> None:
    """Keep an audit in a file. Raises FileUnwritable."""
    files.write(path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")


def load(path: Path) -> Audit:
    """Read an audit back. Raises FileUnreadable."""
    with files.reading(path, "audit"):
        return msgspec.json.decode(path.read_bytes(), type=Audit)
