# SPDX-License-Identifier: Apache-2.0
"""Plan: confirmed findings → ordered, guarded steps, complete in themselves. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Facts, Holding
from trueup.reconcile.findings import Declined, Finding
from trueup.reconcile.observation import Confirmed
from trueup.reconcile.steps import Step

FORMAT = 2

# Design, invariant 14: a plan that changes more is stopped until the limit is raised by name.
STEPS_MAX = 25
CONSUMERS_SHARE_MAX = 0.01

_CONSUMERS = frozenset({"instance", "consumer", "migration", "build"})
_REMEDIES = {defect.NAME: defect.remedy for defect in DEFECTS}


@dataclass(eq=False)
class PlanStale(Exception):
    """The plan is older than it may be."""

    made_at: datetime
    age: timedelta
    age_max: timedelta


@dataclass(eq=False)
class PlanForeign(Exception):
    """The plan was made for another cloud; the cells (by uuid) are not the same."""

    planned: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(eq=False)
class LimitExceeded(Exception):
    """The plan has more steps than it may change at once."""

    steps: int
    limit: int


@dataclass(frozen=True, slots=True)
class NotPlanned:
    """A confirmed finding for which no step is proposed, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, with what they were made from. `cells` says which cloud it is for.

    `first_at` and `made_at` are the times of the two observations. `findings` have steps.
    """

    made_at: datetime
    first_at: datetime
    cells: tuple[str, ...]
    consumers: int
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]
    declined: tuple[NotPlanned, ...] = ()
    undoes: str | None = None
    format: int = FORMAT

    @property
    def id(self) -> str:
        """A short name made from the whole content."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()
        return f"{self.made_at:%Y%m%dT%H%M%S}-{digest[:8]}"

    @property
    def steps_max(self) -> int:
        """How many steps may be applied without raising the limit by name."""
        return max(STEPS_MAX, int(self.consumers * CONSUMERS_SHARE_MAX))


def consumers_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The consumers whose allocations remedies may change: a plan needs to know their holdings."""
    found = {one for finding in findings for one in finding.consumers}
    found |= {row.subject.uuid for row in findings if row.subject.kind in _CONSUMERS}
    return tuple(sorted(found))


def make_plan(confirmed: Confirmed, holdings: Mapping[str, Holding]) -> Plan:
    """Ask the remedy of each finding; what it declines is in the plan as well, with the reason.

    `holdings` are what `consumers_of` the findings hold, read after the second observation.
    """
    facts = replace(confirmed.second.facts, holdings=holdings)
    planned: dict[str, tuple[Finding, Step]] = {}
    found, declined = [], []
    for finding in confirmed.findings:
        steps = _remedied(finding, facts, planned)
        if isinstance(steps, Declined):
            declined.append(NotPlanned(finding, steps.reason))
        else:
            found.append(finding)
            planned |= {step.consumer: (finding, step) for step in steps}
    return Plan(
        made_at=facts.taken_at,
        first_at=confirmed.first_at,
        cells=tuple(sorted(facts.cells)),
        consumers=len(facts.consumers),
        findings=tuple(found),
        declined=tuple(declined),
        steps=_ordered(step for _, step in planned.values()),
    )


def _remedied(
    finding: Finding, facts: Facts, planned: Mapping[str, tuple[Finding, Step]]
) -> tuple[Step, ...] | Declined:
    for consumer in consumers_of([finding]):
        if consumer not in facts.holdings:
            return Declined("what it holds was not read again")
        held = facts.holdings[consumer].allocations
        if (held.amounts if held else {}) != facts.consumers.get(consumer, {}):
            return Declined("what it holds has changed since the second observation")
    steps = _REMEDIES[finding.defect](finding, facts)
    if isinstance(steps, Declined):
        return steps
    # SAFETY: two steps for one consumer would each undo the other's replace.
    for step in steps:
        if step.consumer in planned:
            other, _ = planned[step.consumer]
            return Declined(f"it conflicts with {other.id}; audit again after that is repaired")
    return steps


def refuse_unfit(plan: Plan, cells: Iterable[str], now: datetime, age_max: timedelta) -> None:
    """Raise PlanForeign or PlanStale when the plan is not for this cloud at this time."""
    refuse_foreign(plan, cells)
    age = now - plan.made_at
    if age > age_max:
        raise PlanStale(plan.made_at, age, age_max)


def refuse_foreign(plan: Plan, cells: Iterable[str]) -> None:
    """Raise PlanForeign when the plan is for another cloud."""
    found = tuple(sorted(cells))
    if plan.cells != found:
        raise PlanForeign(plan.cells, found)


def refuse_too_large(plan: Plan, steps_max: int | None) -> None:
    """Raise LimitExceeded when the plan has more steps than its own limit, or the one named."""
    limit = plan.steps_max if steps_max is None else steps_max
    if len(plan.steps) > limit:
        raise LimitExceeded(len(plan.steps), limit)


def in_reverse(plan: Plan, steps: Iterable[Step]) -> Plan:
    """A plan of these steps for the same cloud, that undoes `plan`."""
    return replace(plan, steps=tuple(steps), declined=(), undoes=plan.id)


def _ordered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """What releases first, then what needs room."""
    return tuple(sorted(steps, key=lambda step: (bool(step.guard.provider_generations), step.id)))
