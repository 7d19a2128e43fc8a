# SPDX-License-Identifier: Apache-2.0
"""The file of acknowledgements, in TOML: a table `[[acknowledged]]` for each.

The file belongs to the operator, who keeps it in git: `add` appends to it and changes nothing else.
"""

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.verdicts.acknowledgements import Acknowledgement


@dataclass(eq=False)
class AcknowledgementsUnreadable(Exception):
    """The named file does not exist, or does not hold acknowledgements."""

    path: str
    reason: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    acknowledged: tuple[Acknowledgement, ...] = ()


def load(path: Path) -> tuple[Acknowledgement, ...]:
    """Every acknowledgement of a file. Raises AcknowledgementsUnreadable."""
    try:
        return _parsed(path, path.read_text())
    except OSError as error:
        raise AcknowledgementsUnreadable(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise AcknowledgementsUnreadable(str(path), str(error)) from error


def add(path: Path, acknowledgement: Acknowledgement) -> None:
    """Append an acknowledgement to a file, which need not exist.

    Raises AcknowledgementsUnreadable, FileUnwritable.
    """
    before = ""
    if path.exists():
        load(path)
        before = path.read_text().rstrip("\n") + "\n\n"
    text = before + _table(acknowledgement)
    # SAFETY: a file that cannot be read would end every later audit.
    _parsed(path, text)
    files.write(path, text.encode())


def _parsed(path: Path, text: str) -> tuple[Acknowledgement, ...]:
    try:
        content = tomllib.loads(text)
        found = msgspec.convert(content, _File).acknowledged
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise AcknowledgementsUnreadable(str(path), str(error)) from error
    named = {key for table in content.get("acknowledged", ()) for key in table}
    if unknown := sorted(named - {field.name for field in fields(Acknowledgement)}):
        raise AcknowledgementsUnreadable(str(path), f"it has an unknown field: {unknown[0]}")
    empty = next((row for row in found if not row.name or not row.reason.strip()), None)
    if empty is not None:
        raise AcknowledgementsUnreadable(str(path), f"{empty.kind} has no name or no reason")
    odd = next((row for row in found if (row.kind == "port-provider") != bool(row.provider)), None)
    if odd is not None:
        needed = "port-provider needs a provider" if not odd.provider else "takes no provider"
        raise AcknowledgementsUnreadable(str(path), f"{odd.kind} {odd.name}: {needed}")
    return found


def _table(acknowledgement: Acknowledgement) -> str:
    lines = [
        "[[acknowledged]]",
        f"kind = {_quoted(acknowledgement.kind)}",
        f"name = {_quoted(acknowledgement.name)}",
        f"reason = {_quoted(acknowledgement.reason)}",
        f"until = {acknowledgement.until.isoformat()}",
    ]
    if acknowledgement.provider:
        lines.append(f"provider = {_quoted(acknowledgement.provider)}")
    if acknowledgement.by:
        lines.append(f"by = {_quoted(acknowledgement.by)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML: a JSON string in which DEL is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
