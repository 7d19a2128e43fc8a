# SPDX-License-Identifier: Apache-2.0
"""What watching remembers in files, for one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from trueup.reconcile import files
from trueup.reconcile.watch.errors import FolderUnusable, WatchedAlready

T = TypeVar("T")
FORMAT = 1
_NAME, _LOCK = "watch.json", "watch.lock"
_FOLDER_MODE = 0o700


class _Kept(msgspec.Struct):
    format: int
    memory: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Recalled(Generic[T]):
    """What a file has, if it has anything; `lost` says why that cannot be used."""

    value: T | None = None
    lost: str = ""


@contextmanager
def remembering(folder: Path) -> Iterator[Path]:
    """The file in this folder, for this process alone. Raises WatchedAlready, FolderUnusable."""
    try:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, files.PRIVATE)
    except OSError as error:
        raise FolderUnusable(str(folder), error.strerror or str(error)) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WatchedAlready(str(folder)) from error
        yield folder / _NAME
    finally:
        os.close(lock)


def kept_in(path: Path, kind: type[T]) -> Recalled[T]:
    """What is kept in a file."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        if kept.format != FORMAT:
            return Recalled(lost=f"its format is {kept.format}, this Trueup reads {FORMAT}")
        return Recalled(msgspec.json.decode(kept.memory, type=kind))
    except FileNotFoundError:
        return Recalled()
    except OSError as error:
        return Recalled(lost=error.strerror or str(error))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Recalled(lost=f"it is damaged ({error})")


def keep(path: Path, value: object) -> None:
    """Keep it in a file, whole and durable. Raises FileUnwritable."""
    content = msgspec.Raw(msgspec.json.encode(value))
    files.write(path, msgspec.json.encode(_Kept(FORMAT, content)) + b"\n")
