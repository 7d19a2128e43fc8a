# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a bar on a terminal, nothing in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trueup.exit_codes import ExitCode

Report = Callable[[str, int, int], None]
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def progress() -> Iterator[Report]:
    """A function to call with (stage, done, total; 0: not known), as often as one likes."""
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal or _QUIET.get(),
        transient=True,
    )
    tasks = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total or None)
        bars.update(tasks[stage], completed=done, total=total or None)

    with bars:
        yield report


def wait(seconds: float, report: Report) -> None:
    """Let time pass between two looks, and show it."""
    started = time.monotonic()
    while (passed := time.monotonic() - started) < seconds:
        report("waiting for the second look", int(passed), int(seconds))
        time.sleep(min(1.0, seconds - passed))


def say(line: str) -> None:
    """A line for people, beside the output that programs read; not with `--quiet`."""
    if not _QUIET.get():
        _tell(line)


def complain(sentence: str) -> None:
    """Print why a command failed, also with `--quiet`."""
    _tell(f"trueup: {sentence}")


def interrupted() -> int:
    """Print that a signal ended the command; return the exit code for that."""
    complain(f"{ExitCode.INTERRUPTED.meaning}.")
    return ExitCode.INTERRUPTED


def be_quiet(quiet: bool) -> None:
    """From now on print only why a command failed, and show no progress."""
    _QUIET.set(quiet)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
