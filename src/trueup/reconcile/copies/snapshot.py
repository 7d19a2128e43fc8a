# SPDX-License-Identifier: Apache-2.0
"""Snapshot: facts in a file, which can be audited without access to the cloud."""

import gzip
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.facts import Facts

FORMAT = 1
# PERF: level 6 takes three times as long, and the file is only a tenth smaller.
_COMPRESSION = 3


class _Head(msgspec.Struct):
    format: int


class _File(msgspec.Struct):
    format: int
    anonymized: bool
    facts: Facts


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Facts, and whether names in them were replaced by pseudonyms."""

    facts: Facts
    anonymized: bool = False


def save(snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot, compressed. Raises FileUnwritable."""
    content = msgspec.json.encode(_File(FORMAT, snapshot.anonymized, snapshot.facts))
    files.write(path, gzip.compress(content, _COMPRESSION))


def load(path: Path) -> Snapshot:
    """Read a snapshot back. Raises FileUnreadable."""
    with files.reading(path, "snapshot"):
        content = gzip.decompress(path.read_bytes())
        found = msgspec.json.decode(content, type=_Head).format
        if found != FORMAT:
            reason = f"its format is {found}, this Trueup reads {FORMAT}"
            raise files.FileUnreadable(str(path), "snapshot", reason)
        file = msgspec.json.decode(content, type=_File)
    return Snapshot(file.facts, file.anonymized)
