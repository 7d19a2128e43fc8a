# SPDX-License-Identifier: Apache-2.0
"""Snapshot: facts in a file, which can be audited without access to the cloud."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.facts import Facts

FORMAT = 1
# PERF: level 6 takes three times as long, and the file is only a tenth smaller.
_COMPRESSION = 3


@dataclass(eq=False)
class SnapshotUnusable(Exception):
    """The file cannot be read, or is not a snapshot."""

    path: str
    reason: str


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
    """Read a snapshot back. Raises SnapshotUnusable."""
    try:
        content = gzip.decompress(path.read_bytes())
        found = msgspec.json.decode(content, type=_Head).format
        if found != FORMAT:
            raise SnapshotUnusable(str(path), f"its format is {found}, this Trueup reads {FORMAT}")
        file = msgspec.json.decode(content, type=_File)
    except (gzip.BadGzipFile, EOFError, zlib.error, msgspec.DecodeError, UnicodeError) as error:
        raise SnapshotUnusable(str(path), f"it is not a snapshot ({error})") from error
    except OSError as error:
        raise SnapshotUnusable(str(path), error.strerror or str(error)) from error
    return Snapshot(file.facts, file.anonymized)
