# SPDX-License-Identifier: Apache-2.0
"""The only place where the simulator calls the product's decisions: facts in, plain values out."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from tests.simulator.changes import Change
from tests.simulator.changes import Step as Written
from tests.simulator.cloud import Cloud
from tests.simulator.facts_adapter import facts_of
from tests.simulator.observing import Observed
from tests.simulator.rows import ClaimRow
from tests.simulator.written_to import WrittenTo, holding_of
from trueup.reconcile.audit import (
    Confirmed,
    confirmed_again,
    observation,
    settling_seconds,
    suspects_of,
)
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Allocations
from trueup.reconcile.plan import Plan, consumers_of, make_plan
from trueup.reconcile.runs import guard_checks as guards
from trueup.reconcile.runs.apply import apply
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.steps import Step, consumers_in, held_in
from trueup.reconcile.verdicts import AuditOptions

# The names of all defects that the product has.
KNOWN_NAMES = frozenset(defect.NAME for defect in DEFECTS)
INTERVAL = timedelta(seconds=60)


class Audited:
    """What the product says of one observation."""

    def __init__(self, seen: Observed, allowed_behind: frozenset[str] = frozenset()) -> None:
        self._options = AuditOptions(cells_allowed_behind=allowed_behind)
        self.observation = observation(facts_of(seen), self._options)

    @property
    def suspects(self) -> frozenset[str]:
        """What the product reads again before it reports it."""
        return suspects_of(self.observation.audit)

    def confirm(self, again: Observed) -> None:
        """Keep what is said of the suspects again, after they were read again."""
        self.observation = confirmed_again(
            self.observation, observation(facts_of(again), self._options).audit
        )

    @property
    def findings(self) -> frozenset[tuple[str, str]]:
        """The defect and the subject of each finding."""
        found = self.observation.audit.findings
        return frozenset((row.defect, row.subject.uuid) for row in found)

    @property
    def settling_seconds(self) -> int:
        """For how long the product waits before it reads the suspects again."""
        return settling_seconds(self.observation.audit)

    def confirmed_by(self, again: "Audited") -> frozenset[tuple[str, str]]:
        """The findings that are left when the suspects are read again, as `runs` does it."""
        result = confirmed_again(self.observation, again.observation.audit).audit
        return frozenset((row.defect, row.subject.uuid) for row in result.findings)

    @property
    def open(self) -> str:
        """Everything that could not be checked, as text to search for uuids."""
        return repr(self.observation.audit.unchecked)

    @property
    def incomplete(self) -> bool:
        """Whether a source was silent or a subject was not checked."""
        return self.observation.audit.incomplete


@dataclass(frozen=True)
class Planned:
    """A plan, with its steps as the simulator's own values."""

    plan: Plan
    steps: tuple[Written, ...]


def planned(first: Audited, second: Audited, cloud: Cloud) -> Planned:
    """Plan what both observations found. Holdings are read from the cloud as it is now."""
    confirmed = Confirmed(first.observation.audit, second.observation, INTERVAL)
    wanted = consumers_of(confirmed.findings)
    plan = make_plan(confirmed, {uuid: holding_of(cloud, uuid) for uuid in wanted})
    return Planned(plan, tuple(changes_of(step) for step in plan.steps))


def changes_of(step: Step) -> Written:
    """The changes of a step, one for each consumer."""
    name = ", ".join(step.because).split(":")[0]
    return tuple(
        Change(name, consumer, _claim(before.get(consumer)), _claim(after.get(consumer)))
        for change in step.changes
        for before, after in ((held_in(change.before), held_in(change.after)),)
        for consumer in consumers_in(change)
    )


def applied(
    plan: Planned, cloud: Cloud, before_write: Callable[[Written], None]
) -> Iterator[object]:
    """Apply the plan with the product's own `apply`; yields after each step.

    `before_write` is called with each step that passed its guards, right before the write.
    """
    target: Any = WrittenTo(cloud, before_write)
    with (
        TemporaryDirectory() as folder,
        applying(plan.plan, Path(folder), Origin()) as journal,
        # Guards compare the cloud's times with the cloud's clock.
        patch.object(guards, "now", lambda: cloud.now),
        # A cell that is down ends it: the rest of the plan is for another run.
        suppress(Unreachable),
    ):
        yield from apply(target, journal)


def _claim(allocations: Allocations | None) -> ClaimRow | None:
    if allocations is None:
        return None
    return ClaimRow(allocations.amounts, 0, allocations.project, allocations.user)
