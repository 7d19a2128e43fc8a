# SPDX-License-Identifier: Apache-2.0
"""Transcripts: files of commands as an operator types them, each with what it printed.

A command stands behind `$ ` and goes on behind a backslash; variables live until the end of the
file. A last line `[exit N]` is a status other than zero. Lines with `#` are for the reader.
"""

import ast
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ENTRY = re.compile(
    r"(?P<remarks>(?:(?:#.*)?\n)*)"
    r"\$ (?P<command>(?:.*\\\n)*.*)\n"
    r"(?P<printed>(?:(?!\$ |#|\n).*\n)*)"
)
MARK = "-- what the next command says --"
ENDED = re.compile(rf"\n{MARK} (\d+)\n")
DICTIONARY = re.compile(r"\{.*\}")
SECONDS = 120


@dataclass(frozen=True, slots=True)
class Entry:
    """A command, the remarks above it, and what it printed."""

    remarks: str
    command: str
    printed: str

    def __str__(self) -> str:
        return f"{self.remarks}$ {self.command}\n{self.printed}"


def read(path: Path) -> list[Entry]:
    """The entries of a file. Raises ValueError if a part of it is none."""
    text = path.read_text()
    found = list(ENTRY.finditer(text))
    rest = ENTRY.sub("", text)
    if rest.strip():
        raise ValueError(f"{path.name}: neither a command nor what one printed: {rest!r}")
    return [Entry(**one.groupdict()) for one in found]


def play(entries: Sequence[Entry], environment: Mapping[str, str]) -> list[Entry]:
    """The entries with what their commands print now, in one shell, one after the other."""
    lines = "".join(f"{one.command}\nprintf '\\n{MARK} %s\\n' $?\n" for one in entries)
    shell = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{lines}"],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    said = ENDED.split(shell.stdout)[:-1]
    printed = [_with_status(*pair) for pair in zip(said[::2], said[1::2], strict=True)]
    return [replace(one, printed=text) for one, text in zip(entries, printed, strict=True)]


def _with_status(printed: str, status: str) -> str:
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    if status != "0":
        lines.append(f"[exit {status}]")
    return "".join(f"{line}\n" for line in lines)


def lines_of(entries: Sequence[Entry]) -> list[str]:
    """The text of the entries, for comparing: dictionaries in it are printed in one order.

    The order of consumers and classes has no meaning, and depends on the database.
    """
    return [_in_order(line) for line in "".join(map(str, entries)).splitlines()]


def _in_order(line: str) -> str:
    found = DICTIONARY.search(line)
    try:
        return line.replace(found[0], str(_sorted(ast.literal_eval(found[0])))) if found else line
    except (SyntaxError, ValueError):  # the braces of a shell
        return line


def _sorted(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _sorted(part) for key, part in sorted(value.items())}
