# SPDX-License-Identifier: Apache-2.0
"""The rounds: observe, compare with the memory, report. Two rounds never run at the same time.

SAFETY: nothing here writes to a cloud; only `repairing` does, where a policy permits it. A round
that fails is reported; the next begins as usual.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from trueup.reconcile.audit import Observation
from trueup.reconcile.clock import now
from trueup.reconcile.files import FileUnwritable
from trueup.reconcile.page.history import Mark, history_plot
from trueup.reconcile.page.html import html_of
from trueup.reconcile.page.page import Page, page_of, with_commands
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.page.trend import trends
from trueup.reconcile.runs import INTERVAL_SECONDS, Wait
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import Unreadable
from trueup.reconcile.sinks import Sink
from trueup.reconcile.watch.memory import (
    Memory,
    Sighting,
    after_counting,
    after_failure,
    after_notifying,
    after_round,
    news_in,
)
from trueup.reconcile.watch.memory_file import keep
from trueup.reconcile.watch.news import news_message
from trueup.reconcile.watch.repairing import Repairer
from trueup.reconcile.watch.status import RepairStatus, Stock, WatchStatus, stocks_of
from trueup.reconcile.wording import counted

# By how much of the interval a round may come earlier or later, so that the rounds of several
# watchers, and other work that is timed, do not meet every time.
JITTER = 0.1
_PAUSE_SECONDS_MIN = 1.0


@dataclass(frozen=True, slots=True)
class Watch:
    """What a watch works with. `interval` and `confirm_after` are in seconds.

    `observe` reads and judges the cloud, `count` counts what fits in it, `journals` reads the runs,
    `explain` words an error, `say` tells a person, `pause` lets seconds pass. `complete` adds the
    options that a command on the page needs.
    """

    observe: Callable[[], Observation]
    count: Callable[[Observation], Placeables]
    journals: Callable[[], Iterable[Journal | Unreadable]]
    explain: Callable[[Exception], str]
    say: Callable[[str], None]
    pause: Wait
    path: Path
    interval: float
    version: str
    hook: Sink | None = None
    repairer: Repairer | None = None
    confirm_after: float = INTERVAL_SECONDS
    complete: Callable[[str], str] = str

    @property
    def confirming(self) -> timedelta:
        return timedelta(seconds=self.confirm_after)


class Watcher:
    """Does the rounds of a watch; `status` may be read by other threads at any time."""

    def __init__(self, watch: Watch, memory: Memory) -> None:
        self._watch = watch
        self._page: Page | None = None
        self._seen: Observation | None = None
        self._stocks: tuple[Stock, ...] = ()
        self._rounds: Counter[str] = Counter()
        self._notifications: Counter[str] = Counter()
        self._random = random.Random()
        self.status = WatchStatus(memory, watch.confirming)

    def rounds(self, number: int | None = None) -> None:
        """Do so many rounds (None: until something raises), with pauses between them."""
        done = 0
        while True:
            began = time.monotonic()
            self.round()
            done += 1
            if number is not None and done >= number:
                return
            self._watch.pause(self._left(time.monotonic() - began))

    def round(self) -> None:
        """One round; a failure of it is remembered and reported, and not raised."""
        started, began = now(), time.monotonic()
        self.status = replace(self.status, running_since=started)
        phases: dict[str, float] = {}
        self._seen = None
        try:
            memory = self._observe(phases)
        except Exception as error:
            # SAFETY: what is remembered is not of what this round saw.
            self._seen = None
            reason = self._watch.explain(error)
            memory = after_failure(self.status.memory, started, time.monotonic() - began, reason)
            self._watch.say(f"{started:%Y-%m-%d %H:%M:%S} the round failed: {reason}")
        self._rounds[memory.rounds[-1].state] += 1
        memory = self._notify(memory, phases)
        self._remember(memory, phases)
        self._repair(memory, phases)
        self._publish(memory, phases)

    def _observe(self, phases: dict[str, float]) -> Memory:
        began = time.monotonic()
        seen = self._watch.observe()
        phases["observe"] = time.monotonic() - began
        before = self.status.memory
        memory = after_round(before, seen.audit, seen.facts.cells, phases["observe"])
        began = time.monotonic()
        self._seen = seen
        placeables = self._count(seen)
        if not placeables.gap:
            memory = after_counting(memory, seen.audit.taken_at, placeables.in_all)
        phases["count"] = time.monotonic() - began
        began = time.monotonic()
        journals, version = self._watch.journals(), self._watch.version
        page = page_of(seen, journals, "The cloud", version, placeables)
        self._page = with_commands(page, self._watch.complete)
        self._stocks = stocks_of(seen.facts)
        phases["compose"] = time.monotonic() - began
        self._tell(before, memory)
        return memory

    def _count(self, seen: Observation) -> Placeables:
        """What fits; a failure costs the counts of this round, and not its findings."""
        try:
            return self._watch.count(seen)
        except Exception as error:
            reason = self._watch.explain(error)
            self._watch.say(f"how many servers fit could not be counted: {reason}")
            return Placeables(gap=reason)

    def _tell(self, before: Memory, memory: Memory) -> None:
        last = memory.rounds[-1]
        old, new = ({sighting.id for sighting in each.sightings} for each in (before, memory))
        self._watch.say(
            f"{last.at:%Y-%m-%d %H:%M:%S} {counted(len(new), 'finding')} ({len(new - old)} new, "
            f"{len(old - new)} gone), {last.unchecked} could not be checked, "
            f"the evidence is {last.state}, {last.seconds:.1f} s."
        )

    def _notify(self, memory: Memory, phases: dict[str, float]) -> Memory:
        news = news_in(memory, self._watch.confirming)
        if not news or self._watch.hook is None:
            return memory
        began = time.monotonic()
        reason = self._watch.hook.send(news_message(memory, news, self._watch.confirming))
        phases["notify"] = time.monotonic() - began
        self._notifications["failed" if reason else "done"] += 1
        if reason:
            self._watch.say(f"the hook failed: {reason}. It gets the same news after next round.")
            return memory
        return after_notifying(memory, news)

    def _remember(self, memory: Memory, phases: dict[str, float]) -> None:
        began = time.monotonic()
        try:
            keep(self._watch.path, memory)
        except FileUnwritable as error:
            self._watch.say(f"{error.path} cannot be written: {error.reason}. Watching continues.")
        phases["remember"] = time.monotonic() - began

    def _repair(self, memory: Memory, phases: dict[str, float]) -> None:
        if self._watch.repairer is None:
            return
        began = time.monotonic()
        self._watch.repairer.after_round(self._seen, memory)
        phases["repair"] = time.monotonic() - began

    @property
    def _repairs(self) -> RepairStatus | None:
        one = self._watch.repairer
        return RepairStatus(one.state, one.room, dict(one.runs), one.note) if one else None

    def _publish(self, memory: Memory, phases: dict[str, float]) -> None:
        began = time.monotonic()
        content = self._rendered(memory)
        phases["render"] = time.monotonic() - began
        # SAFETY: one assignment, or a scrape would see a new success beside an old memory.
        self.status = replace(
            self.status,
            memory=memory,
            page=content,
            coverage=self._page.coverage if self._page else (),
            totals=self._page.totals if self._page else (),
            placeables=self._page.placeables if self._page else None,
            stocks=self._stocks,
            reasons=self._page.reasons if self._page else {},
            last_success=self._page.taken_at if self._page else None,
            phases=phases,
            rounds=dict(self._rounds),
            notifications=dict(self._notifications),
            repairs=self._repairs,
            running_since=None,
        )

    def _rendered(self, memory: Memory) -> bytes:
        """The page of the last round that succeeded, with the history up to now."""
        if self._page is None:
            return b""
        try:
            returns = tuple(_return(sighting) for sighting in memory.sightings if sighting.returned)
            history = history_plot(_marks(memory))
            repairs = self._repairs.words if self._repairs else ""
            page = replace(
                self._page,
                history=history,
                returns=returns,
                repairs=repairs,
                trends=trends(memory.counts),
            )
            return html_of(page)
        except Exception as error:
            self._watch.say(f"the page cannot be made: {self._watch.explain(error)}")
            return self.status.page

    def _left(self, passed: float) -> float:
        """Seconds until the next round; sooner if it is to confirm what is new."""
        interval = self._watch.interval
        if self.status.memory.has_new:
            # Not less than what confirms, or the next round would come too early for it.
            return max(_PAUSE_SECONDS_MIN, min(interval, self._watch.confirm_after))
        spread = self._random.uniform(1 - JITTER, 1 + JITTER)
        return max(_PAUSE_SECONDS_MIN, interval * spread - passed)


def _return(one: Sighting) -> str:
    where = f" on {one.where}" if one.where else ""
    times = counted(one.returned + 1, "time")
    return f"`{one.id}`{where}: {times} in the last two weeks"


def _marks(memory: Memory) -> tuple[Mark, ...]:
    return tuple(
        Mark(past.at, past.counts or {}, past.unchecked, past.state, past.reason)
        for past in memory.rounds
    )
