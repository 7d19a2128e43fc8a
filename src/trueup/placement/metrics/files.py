# SPDX-License-Identifier: Apache-2.0
"""The folder in which each worker keeps its values, and the text that a scrape gets of all.

prometheus_client's mode for several processes: each process maps files of its own into memory and
writes there, and whoever is scraped reads the files of all. The files of a process that has ended
are added to one file, so that counters never fall and a folder never fills.
"""

import fcntl
import os
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Metric, exposition, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

# The library does not type these.
_File: Any = MmapedDict
_merge: Any = MultiProcessCollector.merge
_several_processes: Any = values.MultiProcessValue

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_LOCK = "lock"
_NOBODY = 0
"""The number of the process whose files hold the sums of all that have ended."""
_UNREADABLE = (OSError, RuntimeError, struct.error, UnicodeDecodeError, ValueError)


def keep_values_in(folder: Path) -> None:
    """From now on, this process keeps the values of its metrics in this folder.

    Raises OSError if the folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        os.environ[_VARIABLE] = str(folder)
    # The library chooses by the variable when it is imported, and somebody may have imported it.
    values.ValueClass = _several_processes()


def scrape(folder: Path, accept: str) -> tuple[str, bytes]:
    """The media type that a client accepts, and the metrics of all processes in it."""
    with _locked(folder):
        _add_up_ended(folder)
        registry = CollectorRegistry()
        registry.register(_AllProcesses(folder))
        encode, media_type = exposition.choose_encoder(accept)
        return media_type, encode(registry)


class _AllProcesses:
    """What the library's collector does, without files that cannot be read."""

    def __init__(self, folder: Path):
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        readable = [str(path) for path in self._folder.glob("*.db") if _content(path) is not None]
        yield from _merge(readable, accumulate=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Files are added up by one process at a time, and read when nobody does so."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _add_up_ended(folder: Path) -> None:
    """Move what processes that have ended counted into files of their own."""
    for path in sorted(folder.glob("*.db")):
        kind, _, process = path.stem.rpartition("_")
        if not process.isdecimal() or _is_alive(int(process)):
            continue
        content = _content(path)
        if content is not None and not kind.startswith("gauge"):
            _add(content, folder / f"{kind}_{_NOBODY}.db")
        path.unlink()


def _add(content: Counter[str], sums: Path) -> None:
    total = Counter(_content(sums) or {}) if sums.exists() else Counter[str]()
    total.update(content)
    new = sums.with_suffix(".new")
    new.unlink(missing_ok=True)
    written = _File(str(new))
    for key, value in total.items():
        written.write_value(key, value, 0.0)
    written.close()
    new.replace(sums)


def _content(path: Path) -> Counter[str] | None:
    """The values of a file by their key; None if it cannot be read, or is gone."""
    try:
        read = _File.read_all_values_from_file(str(path))
        return Counter({key: value for key, value, _timestamp, _position in read})
    except _UNREADABLE:
        return None


def _is_alive(process: int) -> bool:
    if process == _NOBODY:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
