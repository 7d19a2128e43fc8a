# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of a process and its descendants, from /proc.

The time of threads is read from `schedstat`, which counts nanoseconds. `stat` counts hundredths of
a second, which is more than some requests take, but it includes threads that have ended.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_MIB = 2**20


def children_of(process: int) -> set[int]:
    """The child processes of this one that still run."""
    found = set()
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and _parent_of(folder) == process:
            found.add(int(folder.name))
    return found


def seconds_used(root: int) -> float:
    """Processor seconds so far of a process and its descendants, including ended ones."""
    return sum(_seconds_of(process) for process in _tree(root))


def memory_mib(root: int) -> tuple[float, float]:
    """MiB of the largest process, and of all processes together (shared pages count once)."""
    largest = shared_once = 0.0
    for process in _tree(root):
        try:
            text = (_PROC / str(process) / "smaps_rollup").read_text()
        except OSError:
            continue
        sizes = {line.split(":")[0]: line.split()[1] for line in text.splitlines()[1:]}
        largest = max(largest, int(sizes["Rss"]) * 1024 / _MIB)
        shared_once += int(sizes["Pss"]) * 1024 / _MIB
    return largest, shared_once


def _tree(root: int) -> Iterator[int]:
    yield root
    for child in children_of(root):
        yield from _tree(child)


def _parent_of(folder: Path) -> int | None:
    try:
        return int(_stat(folder)[1])
    except OSError:
        return None


def _stat(folder: Path) -> list[str]:
    """The fields after the process name, which may contain blanks: state, parent and so on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def _seconds_of(process: int) -> float:
    folder = _PROC / str(process)
    try:
        own, own_system, reaped, reaped_system = map(int, _stat(folder)[11:15])
        threads = sum(_nanoseconds(thread) for thread in (folder / "task").iterdir())
    except OSError:
        return 0.0
    # A thread that ended is missing from the sum of threads, but not from the ticks.
    alive = max(threads / 1e9, (own + own_system) * _TICK_SECONDS)
    return alive + (reaped + reaped_system) * _TICK_SECONDS


def _nanoseconds(thread: Path) -> int:
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except OSError:
        return 0
