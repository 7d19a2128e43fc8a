# SPDX-License-Identifier: Apache-2.0
"""Pace: how many steps are written side by side, and how many in a second."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock

from trueup.reconcile.steps import Step, step_growth


@dataclass(frozen=True, slots=True)
class Pace:
    """`concurrency` steps at once at most; `per_second` of them at most, or as fast as it goes."""

    concurrency: int = 1
    per_second: float | None = None


ONE_BY_ONE = Pace()


class Throttle:
    """Lets callers through one after the other, no more of them in a second than a pace allows."""

    def __init__(self, pace: Pace) -> None:
        self._seconds = 1 / pace.per_second if pace.per_second else 0.0
        self._next = time.monotonic()
        self._lock = Lock()

    def wait(self) -> None:
        """Return when it is the caller's turn."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._seconds
        time.sleep(max(0.0, turn - time.monotonic()))


def batches(steps: Iterable[Step], size: int) -> Iterator[tuple[Step, ...]]:
    """Steps in their order, in groups of at most `size` that may be written in any order.

    A step begins a new group if it needs one of the group before it, or the room that one frees.
    """
    group: list[Step] = []
    for step in steps:
        if len(group) == size or any(_depends(step, earlier) for earlier in group):
            yield tuple(group)
            group = []
        group.append(step)
    if group:
        yield tuple(group)


def _depends(step: Step, earlier: Step) -> bool:
    growth, freed = step_growth(step), step_growth(earlier)
    return (
        earlier.id in step.needs
        or bool(step.subjects & earlier.subjects)
        or any(amount > 0 and freed.get(key, 0) < 0 for key, amount in growth.items())
    )
