# SPDX-License-Identifier: Apache-2.0
"""The status of watching: one frozen value that metrics, page and health are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from trueup.reconcile.facts import Facts
from trueup.reconcile.page.page import CoverageRow
from trueup.reconcile.page.placeable import Placeables
from trueup.reconcile.page.split import CapacitySplit
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.repairs import Repairs
from trueup.reconcile.wording import counted

# A round that takes longer hangs.
STUCK_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Stock:
    """One resource class of a provider, as Placement has it."""

    provider: str
    resource_class: str
    total: int
    reserved: int
    allocation_ratio: float
    used: int


def stocks_of(facts: Facts) -> tuple[Stock, ...]:
    """Everything that Placement has; nothing if it is silent."""
    return tuple(
        Stock(
            row.name, name, stock.total, stock.reserved, stock.allocation_ratio,
            facts.used.get(row.uuid, {}).get(name, 0),
        )
        for row in facts.providers.values()
        for name, stock in row.inventories.items()
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RepairStatus:
    """What repairs may still change in this hour and this day, and the runs since the start.

    `note`: why the last round repaired nothing, where it might have.
    """

    state: Repairs
    room: tuple[int, int]
    runs: Mapping[str, int]
    note: str = ""

    @property
    def words(self) -> str:
        """What is next, in words."""
        if stop := self.state.stopped:
            return f"Stopped since {stop.at:%Y-%m-%d}: {in_words(stop.reason)}."
        if self.state.announced:
            return f"The next round repairs {', '.join(self.state.announced)}."
        if self.note:
            return self.note
        hour, day = self.room
        subjects = counted(hour, "subject")
        return f"{subjects} may still be changed in this hour, {day} in this day."


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What is known now. Before the first round has succeeded, `last_success` is None.

    `running_since` is when the round in progress began. `phases` are seconds of the last round.
    `rounds` and `notifications` count since the start of the process, by how they ended.
    """

    memory: Memory
    confirm_after: timedelta
    page: bytes = b""
    coverage: tuple[CoverageRow, ...] = ()
    totals: tuple[CapacitySplit, ...] = ()
    reasons: Mapping[tuple[str, str], int] = field(default_factory=dict)
    placeables: Placeables | None = None
    stocks: tuple[Stock, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    rounds: Mapping[str, int] = field(default_factory=dict)
    notifications: Mapping[str, int] = field(default_factory=dict)
    last_success: datetime | None = None
    running_since: datetime | None = None
    repairs: RepairStatus | None = None

    def not_ready(self) -> str:
        """Why there is nothing to show yet; empty if there is."""
        if self.last_success:
            return ""
        last = self.memory.rounds[-1] if self.memory.rounds else None
        reason = f": {last.reason}" if last and last.reason else ""
        return f"no round has succeeded yet{reason}"

    def not_alive(self, now: datetime) -> str:
        """Why this process should be restarted; empty if it should not."""
        if self.running_since and now - self.running_since > STUCK_AFTER:
            return f"a round has not ended since {self.running_since:%Y-%m-%d %H:%M:%S} UTC"
        return ""
