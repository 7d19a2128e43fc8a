# SPDX-License-Identifier: Apache-2.0
"""The folder in which each worker keeps its values, and the text of a scrape over all workers.

prometheus_client's mode for several processes: each process maps its own files into memory and
writes there, and the scraped process reads the files of all. The files of an ended process are
added to one file, so that counters never fall and the folder does not grow.
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
_ENDED = 0
"""The process number in the names of files with the sums of ended processes."""
_UNREADABLE = (OSError, RuntimeError, struct.error, UnicodeDecodeError, ValueError)


def keep_values_in(folder: Path) -> None:
    """Keep the values of this process's metrics in this folder from now on.

    Raises OSError if the folder cannot be created or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        os.environ[_VARIABLE] = str(folder)
    # The library reads the variable at its import, which may have been earlier.
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
    """Collects like the library's collector, without unreadable files."""

    def __init__(self, folder: Path):
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        readable = [str(path) for path in self._folder.glob("*.db") if _content(path) is not None]
        yield from _merge(readable, accumulate=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes that add up or read its files."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _add_up_ended(folder: Path) -> None:
    """Move the counts of ended processes into the files of sums."""
    for path in sorted(folder.glob("*.db")):
        kind, _, process = path.stem.rpartition("_")
        if not process.isdecimal() or _is_alive(int(process)):
            continue
        content = _content(path)
        if content is not None and not kind.startswith("gauge"):
            _add_to_sums(content, folder / f"{kind}_{_ENDED}.db")
        path.unlink()


def _add_to_sums(content: Counter[str], sums: Path) -> None:
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
    if process == _ENDED:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
