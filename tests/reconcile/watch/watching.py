# SPDX-License-Identifier: Apache-2.0
"""Watches of small clouds, without a cloud: each round takes the next of some observations."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from tests.reconcile.page.paging import NOT_COUNTED, seen
from tests.scenarios.drafting import NOW
from trueup.reconcile.audit import Observation
from trueup.reconcile.page.placeable import Failures, Placeable, Placeables
from trueup.reconcile.sinks import Sink
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.watching import Watch, Watcher

MINUTE = timedelta(minutes=1)
FITS = Placeables(
    rows=(
        Placeable("m1", "east", now=3, repaired=5, hosts=2, at_most=False, binds="VCPU: 2 hosts"),
        Placeable("m1", "west", now=0, repaired=0, hosts=0, at_most=False, binds="VCPU: 1 host"),
    ),
    failures=Failures(absorbed=2, uncertain=0, lost=1),
)


def at(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def seen_at(text: str, minutes: int) -> Observation:
    """The observation of a cloud, so many minutes later."""
    one = seen(text)
    return replace(one, audit=replace(one.audit, taken_at=at(minutes)))


@dataclass
class Scene:
    """What a watcher was shown and what it did: what it said, and for how long it paused."""

    watcher: Watcher
    said: list[str] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)


def scene(
    rounds: Iterable[Observation | Exception],
    path: Path,
    memory: Memory | None = None,
    hook: Sink | None = None,
    count: Callable[[Observation], Placeables] = lambda _: NOT_COUNTED,
) -> Scene:
    """A watcher that has been shown these, round by round; an error is raised in its round."""
    coming = list(rounds)
    number = len(coming)
    said: list[str] = []
    paused: list[float] = []

    def observe() -> Observation:
        one = coming.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    watch = Watch(
        observe=observe,
        count=count,
        journals=tuple,
        explain=str,
        say=said.append,
        pause=paused.append,
        path=path,
        interval=600,
        version="1.2.3",
        hook=hook,
    )
    watcher = Watcher(watch, memory or Memory())
    if number:
        watcher.rounds(number)
    return Scene(watcher, said, paused)
