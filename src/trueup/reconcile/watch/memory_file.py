# SPDX-License-Identifier: Apache-2.0
"""The memory of watching in a file, for one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import files
from trueup.reconcile.watch.errors import FolderUnusable, WatchedAlready
from trueup.reconcile.watch.memory import Memory

FORMAT = 1
_NAME, _LOCK = "watch.json", "watch.lock"
_FOLDER_MODE = 0o700


class _Kept(msgspec.Struct):
    format: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was remembered; `lost` says why it begins anew, where there was something."""

    memory: Memory
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


def recall(path: Path) -> Recalled:
    """What was remembered. A damaged file costs the history, and never the watching."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
    except FileNotFoundError:
        return Recalled(Memory())
    except OSError as error:
        return Recalled(Memory(), error.strerror or str(error))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Recalled(Memory(), f"it is damaged ({error})")
    if kept.format != FORMAT:
        return Recalled(Memory(), f"its format is {kept.format}, this Trueup reads {FORMAT}")
    return Recalled(kept.memory)


def remember(memory: Memory, path: Path) -> None:
    """Keep it, whole and durable. Raises FileUnwritable."""
    files.write(path, msgspec.json.encode(_Kept(FORMAT, memory)) + b"\n")
