# SPDX-License-Identifier: Apache-2.0
"""Plans in files: readable, and with a digest that shows if somebody edited them."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.plan.plan import FORMAT, Plan


@dataclass(eq=False)
class PlanFormatUnknown(Exception):
    """The file is a plan of another version of Trueup."""

    path: str
    found: int
    known: int


@dataclass(eq=False)
class PlanEdited(Exception):
    """The file is a plan, but not as it was saved."""

    path: str


class _File(msgspec.Struct):
    digest: str
    plan: msgspec.Raw


class _Header(msgspec.Struct):
    format: int


def save(plan: Plan, path: Path) -> None:
    """Write the plan to a file. Raises FileUnwritable."""
    content = msgspec.json.encode(plan)
    file = _File(digest=_digest(content), plan=msgspec.Raw(content))
    files.write(path, msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")


def load(path: Path) -> Plan:
    """Read a plan back.

    Raises FileUnreadable, PlanFormatUnknown, or PlanEdited when its digest is not that of its
    content.
    """
    with files.reading(path, "plan"):
        file = msgspec.json.decode(path.read_bytes(), type=_File)
        found = msgspec.json.decode(file.plan, type=_Header).format
        if found != FORMAT:
            raise PlanFormatUnknown(str(path), found, FORMAT)
        plan = msgspec.json.decode(file.plan, type=Plan)
    # The digest is of the text without its line breaks. `plan` lacks fields that this version does
    # not know, and these must not be lost unnoticed.
    if _digest(msgspec.json.format(bytes(file.plan), indent=-1)) != file.digest:
        raise PlanEdited(str(path))
    return plan


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
