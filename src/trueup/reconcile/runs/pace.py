# SPDX-License-Identifier: Apache-2.0
"""Pace: which steps share a request, how many run in parallel, how fast, and when they pause."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from trueup.reconcile.files import is_there
from trueup.reconcile.steps import AllocationsOf, Change, Step, held_in, step_growth

# PERF: how many creations are written in one request, with one read of their guards and two fsyncs.
CREATED_TOGETHER = 50

# How often the end of a pause is checked, and the longest wait for slow services.
PAUSED_SECONDS = 1.0
EASED_SECONDS_MAX = 30.0

# Steps that are written in one request if possible.
Bundle = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `concurrency` steps in parallel, and at most `per_second`; None: without a limit.

    A step that takes longer than `slow_after` seconds shows that services are busy. The next step
    then waits for that long, twice as long if it is slow too, and so on. While the file `pause`
    exists, no step begins; `paused` is called the first time. `permit` is called before each step,
    and ends the run if it raises.
    """

    concurrency: int = 1
    per_second: float | None = None
    slow_after: float | None = None
    pause: Path | None = None
    paused: Callable[[Path], None] = lambda _: None
    permit: Callable[[], None] = lambda: None


ONE_BY_ONE = Pace()


class Throttle:
    """Lets callers through one after the other, as a pace allows. `sleep` waits for seconds."""

    def __init__(
        self,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pace = pace
        self._clock, self._sleep = clock, sleep
        self._seconds = 1 / pace.per_second if pace.per_second else 0.0
        self._next = self._ready = clock()
        self._eased = 0.0
        self._told = False
        self._lock = Lock()

    def hold(self) -> None:
        """Wait until the pause is over, and busy services had their time.

        It is called between two steps, in the thread that an interrupt reaches.
        """
        while self._pace.pause is not None and is_there(self._pace.pause):
            if not self._told:
                self._told = True
                self._pace.paused(self._pace.pause)
            self._sleep(PAUSED_SECONDS)
        if (left := self._ready - self._clock()) > 0:
            self._sleep(left)
        self._pace.permit()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the caller's turn, and measure how long its block takes."""
        with self._lock:
            turn = max(self._next, self._clock())
            self._next = turn + self._seconds
        self._sleep(max(0.0, turn - self._clock()))
        began = self._clock()
        yield
        self._ease(self._clock() - began)

    def _ease(self, seconds: float) -> None:
        slow = self._pace.slow_after
        with self._lock:
            if slow is None or seconds <= slow:
                self._eased = 0.0
                return
            self._eased = min(EASED_SECONDS_MAX, max(seconds, 2 * self._eased))
            self._ready = self._clock() + self._eased


def bundles(steps: Iterable[Step], pace: Pace) -> Iterator[Bundle]:
    """Steps in their order; neighbours that can be written in one request are one bundle.

    Those are creations, all with a consumer type or all without. Every other step is a bundle of
    its own. With a limit per second, each step is.
    """
    size = CREATED_TOGETHER if pace.per_second is None else 1
    bundle: list[Step] = []
    consumers: set[str] = set()
    for step in steps:
        kind = _creation(step)
        fits = kind is not None and bool(bundle) and kind == _creation(bundle[0])
        if bundle and not (fits and len(bundle) < size and consumers.isdisjoint(step.consumers)):
            yield tuple(bundle)
            bundle, consumers = [], set()
        bundle.append(step)
        consumers.update(step.consumers)
    if bundle:
        yield tuple(bundle)


def batches(steps: Iterable[Bundle], size: int) -> Iterator[tuple[Bundle, ...]]:
    """Bundles in their order, in groups of at most `size` that may be written in any order.

    A bundle begins a new group if it needs a bundle of the group before it, or room that one frees.
    """
    group = _Group()
    for bundle in steps:
        if len(group.bundles) == size or any(map(group.precedes, bundle)):
            yield tuple(group.bundles)
            group = _Group()
        group.add(bundle)
    if group.bundles:
        yield tuple(group.bundles)


def _creation(step: Step) -> str | None:
    """`typed` or `untyped` if the step only gives resources to one consumer that holds nothing.

    SAFETY: such a consumer has no generation, so Placement refuses the write if it knows the
    consumer by then. Such a step frees no room, and needs no other step.
    """
    match step.changes:
        case [Change(AllocationsOf([consumer]), before, after, version)]:
            held = held_in(after)[consumer]
            unknown = held_in(before)[consumer] is None and version[consumer] is None
            if unknown and held is not None and not step.needs:
                return "untyped" if held.consumer_type is None else "typed"
    return None


class _Group:
    """Bundles that may be written in any order, and what later steps may have to wait for."""

    def __init__(self) -> None:
        self.bundles: list[Bundle] = []
        self._ids: set[str] = set()
        self._subjects: set[str] = set()
        self._freed: set[tuple[str, str]] = set()

    def add(self, bundle: Bundle) -> None:
        self.bundles.append(bundle)
        for step in bundle:
            self._ids.add(step.id)
            self._subjects |= step.subjects
            self._freed |= {key for key, amount in step_growth(step).items() if amount < 0}

    def precedes(self, step: Step) -> bool:
        """Whether a step must come after this group."""
        return (
            not self._ids.isdisjoint(step.needs)
            or not self._subjects.isdisjoint(step.subjects)
            or any(amount > 0 and key in self._freed for key, amount in step_growth(step).items())
        )
