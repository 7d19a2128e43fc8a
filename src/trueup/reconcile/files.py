# SPDX-License-Identifier: Apache-2.0
"""Files: the one way in which Trueup writes a file. It is there whole, or as it was before."""

import gzip
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

# What Trueup says of a cloud is for the operator who asked.
PRIVATE = 0o600


@dataclass(eq=False)
class FileUnwritable(Exception):
    """This path cannot be written: no permission, no folder, no space, or no regular file."""

    path: str
    reason: str


Kind = Literal["audit", "copy of a ledger", "log of messages", "plan", "snapshot"]


@dataclass(eq=False)
class FileUnreadable(Exception):
    """This file cannot be read, or is not what it is taken for: something that Trueup wrote."""

    path: str
    kind: Kind
    reason: str


def is_there(path: Path) -> bool:
    """Whether there is a file, a folder or a link.

    SAFETY: it also counts as there if that cannot be read: it may be a policy, or a pause.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def reading(path: Path, kind: Kind) -> Iterator[None]:
    """Whatever is wrong with a file that is read inside of this raises FileUnreadable."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error, msgspec.DecodeError, UnicodeError) as error:
        reason = f"it is not {'an' if kind == 'audit' else 'a'} {kind} ({error})"
        raise FileUnreadable(str(path), kind, reason) from error
    except OSError as error:
        raise FileUnreadable(str(path), kind, error.strerror or str(error)) from error


def refuse_unwritable(path: Path) -> None:
    """Raise FileUnwritable if `write` would. Call it before the work whose result is written."""
    try:
        target, _ = _target(path)
        handle, temporary = _temporary(target)
        os.close(handle)
        os.unlink(temporary)
    except OSError as error:
        raise FileUnwritable(str(path), error.strerror or str(error)) from error


def write(path: Path, content: bytes, like: Path | None = None) -> None:
    """Replace a file's content, durably; a new file is readable by its owner only.

    With `like`, a new file has the mode of that one, if that is there. Through links to the file
    they lead to, keeping its mode. Raises FileUnwritable, also for whatever exists and is no
    regular file, as a device or a FIFO.
    """
    try:
        target, mode = _target(path)
        if like is not None and like.exists() and not target.exists():
            mode = stat.S_IMODE(like.stat().st_mode)
        handle, temporary = _temporary(target)
        try:
            _fill(handle, content, mode)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise FileUnwritable(str(path), error.strerror or str(error)) from error


def write_once(path: Path, content: bytes) -> None:
    """Write a file that does not exist yet; leave one that does as it is. Raises FileUnwritable."""
    try:
        handle, temporary = _temporary(path)
        try:
            _fill(handle, content, PRIVATE)
            # Of several processes that do this at once, one wins, and all see its whole file.
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
        sync_folder(path.parent)
    except OSError as error:
        raise FileUnwritable(str(path), error.strerror or str(error)) from error


def sync_folder(folder: Path) -> None:
    """Put on disk which files a folder has. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _target(path: Path) -> tuple[Path, int]:
    """The file that a path leads to, and the mode it is to have. Raises FileUnwritable, OSError."""
    # What stands under /dev may lead to a file, as /dev/stdout does; it is not for us to replace.
    # Files in shared memory are files.
    named = path.absolute()
    if named.is_relative_to("/dev") and not named.is_relative_to("/dev/shm"):
        raise FileUnwritable(str(path), "it is a device")
    target = Path(os.path.realpath(path))
    try:
        found = target.stat()
    except FileNotFoundError:
        return target, PRIVATE
    if not stat.S_ISREG(found.st_mode):
        raise FileUnwritable(str(path), "it is not a regular file")
    if not os.access(target, os.W_OK):
        raise FileUnwritable(str(path), "its permissions do not allow it to be changed")
    return target, stat.S_IMODE(found.st_mode)


def _temporary(target: Path) -> tuple[int, str]:
    """A new file beside the target, open for writing, and its path."""
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")


def _fill(handle: int, content: bytes, mode: int) -> None:
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(handle, mode)
        # SAFETY: on disk before the name leads to it, or a crash leaves an empty file there.
        os.fsync(handle)
