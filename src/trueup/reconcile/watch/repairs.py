# SPDX-License-Identifier: Apache-2.0
"""Repairs without a person: what is remembered of them, what stops them, what may be written. Pure.

SAFETY: whatever is not known stops them. Only a person ends a stop.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from trueup.reconcile.audit import Audit, Observation
from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import Plan, Ruling
from trueup.reconcile.plan.automatic import PROOFS, Terms, unproven
from trueup.reconcile.plan.narrowed import without
from trueup.reconcile.reasons import Reason, because, together
from trueup.reconcile.runs.journal import Journal, StepOutcome, is_lost
from trueup.reconcile.steps import Step, held_in
from trueup.reconcile.verdicts import Finding
from trueup.reconcile.verdicts.verified import State, Verified
from trueup.reconcile.watch.memory import RETURN_AFTER_MAX, Memory, Moment, Sighting

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# A run that was interrupted is continued only so long: then its plan is too old.
CONTINUED_MAX = HOUR


@dataclass(frozen=True, slots=True)
class Spent:
    """How many subjects a run may have changed, noted before it began; `at` is when it ended."""

    at: Moment
    subjects: Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Stop:
    """Since when nothing is repaired, and why."""

    at: Moment
    reason: Reason


@dataclass(frozen=True, slots=True)
class Repairs:
    """What is remembered from round to round, and over restarts.

    `announced` has the findings whose repair was announced, each with its evidence. `running` is
    the name of the plan that is being applied. `repaired` has when findings were repaired in the
    last two weeks. `released_at` is when a person ended a stop.
    """

    spent: tuple[Spent, ...] = ()
    announced: Mapping[str, str] = field(default_factory=dict)
    running: str = ""
    repaired: Mapping[str, Moment] = field(default_factory=dict)
    stopped: Stop | None = None
    released_at: Moment | None = None

    def room(self, terms: Terms, now: datetime) -> tuple[int, int]:
        """How many subjects may still be changed in this hour, and in this day."""
        return (
            max(0, terms.per_hour - self._spent_within(HOUR, now)),
            max(0, terms.per_day - self._spent_within(DAY, now)),
        )

    def _spent_within(self, period: timedelta, now: datetime) -> int:
        # SAFETY: what lies ahead counts too, or a clock that is set back would give a new budget.
        return sum(spent.subjects for spent in self.spent if now - spent.at < period)

    def reserving(self, subjects: int, now: datetime) -> tuple[Spent, ...]:
        """What was spent and still counts, and so many subjects from now on."""
        return (*(spent for spent in self.spent if now - spent.at < DAY), Spent(now, subjects))

    def repairing(self, findings: Iterable[str], now: datetime) -> dict[str, datetime]:
        """What was repaired in the last two weeks, and now."""
        recent = {
            finding: at for finding, at in self.repaired.items() if now - at <= RETURN_AFTER_MAX
        }
        return recent | dict.fromkeys(findings, now)

    def until(self, now: datetime) -> tuple[Spent, ...]:
        """What was spent, where the last run goes on until now: its hour and day begin now."""
        return (
            *self.spent[:-1],
            *(Spent(max(now, last.at), last.subjects) for last in self.spent[-1:]),
        )


def written_for(outcomes: Iterable[StepOutcome]) -> set[str]:
    """The findings for which something was written, whether or not all of it is in place.

    A run that is continued may find that what it wrote is there no more: that was a repair too.
    """
    return {
        why
        for step, outcome in outcomes
        for why in step.because
        if outcome.result == "done" or outcome.partly or is_lost(outcome)
    }


def recalled(journals: Iterable[Journal], now: datetime) -> Repairs:
    """What the journals tell of earlier repairs, where nothing else is remembered.

    SAFETY: or whoever removes the memory would get a new budget.
    """
    ours = [journal for journal in journals if journal.unattended]
    found = Repairs()
    for journal in ours:
        again = dict.fromkeys(written_for(journal.attempted), journal.ended_at)
        found = replace(
            found,
            spent=(*found.spent, Spent(journal.ended_at, len(journal.plan.subjects))),
            repaired={**found.repaired, **again},
            running=journal.plan.id if journal.interrupted else "",
        )
    return replace(
        found,
        spent=found.reserving(0, now)[:-1],
        repaired=found.repairing((), now),
    )


def why_stop(seen: Observation, memory: Memory, repairs: Repairs, terms: Terms) -> Reason | None:
    """Why nothing may be repaired any more, as this round shows; None if it may."""
    audit = seen.audit
    if gap := audit.coverage.gap:
        return because("repair-evidence-incomplete", gap)
    found, consumers = len(audit.findings), len(seen.facts.consumers)
    if found > terms.findings_share * consumers:
        share = f"{terms.findings_share:.1%}"
        return because("repair-too-many", findings=found, consumers=consumers, share=share)
    for sighting in memory.sightings:
        if sighting.defect in PROOFS and _came_back(sighting, repairs):
            return because("repair-came-back", finding=sighting.id)
    return None


def candidates(audit: Audit, memory: Memory, repairs: Repairs, terms: Terms) -> tuple[Finding, ...]:
    """The findings that could be repaired now.

    One that came back is left to people: no repair of the ledger removes its cause.
    """
    steady = {
        sighting.id
        for sighting in memory.sightings
        if sighting.steady >= terms.rounds
        and not sighting.returned
        and sighting.id not in repairs.repaired
    }
    return tuple(row for row in audit.findings if row.id in steady and row.defect in PROOFS)


def announced_first(plan: Plan, repairs: Repairs, evidence: Mapping[str, str]) -> Plan:
    """What a plan has of findings that are announced, if it has any of them; else all of it."""
    others = {
        row.id
        for row in plan.findings
        if row.id not in evidence or repairs.announced.get(row.id) != evidence[row.id]
    }
    return plan if len(others) == len(plan.findings) else without(plan, others)


def allowed(plan: Plan, rulings: Mapping[str, Ruling], facts: Facts, room: int) -> Plan | Reason:
    """The part of a plan that may be written now: of one host, and within the room of the budget.

    Or why nothing of it may be.
    """
    refused = {step.id: reason for step in plan.steps if (reason := _refusal(step, rulings))}
    left_out = {why for step in plan.steps if step.id in refused for why in step.because}
    permitted = without(plan, left_out)
    if not permitted.steps:
        declined = (row.reason for row in plan.declined)
        return together((*refused.values(), *declined)) or because("repair-no-step")
    chosen: set[str] = set()
    hosts: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    for finding in permitted.findings:
        part = without(permitted, {row.id for row in permitted.findings if row.id != finding.id})
        on = frozenset().union(*(_hosts(step, facts) for step in part.steps))
        fits = len(subjects | part.subjects) <= room and (not chosen or on <= hosts)
        if part.steps and fits:
            hosts = hosts or on
            chosen.add(finding.id)
            subjects |= part.subjects
    if not chosen:
        return because("repair-budget-spent", room=room)
    return without(permitted, {row.id for row in permitted.findings} - chosen)


def is_announced(plan: Plan, repairs: Repairs, evidence: Mapping[str, str]) -> bool:
    """Whether every finding of a plan was announced, with the evidence that it has now."""
    return all(repairs.announced.get(row.id) == evidence.get(row.id, "") for row in plan.findings)


def why_stop_after(outcomes: Iterable[StepOutcome], verified: Iterable[Verified]) -> Reason | None:
    """Why nothing may be repaired after a run that ended so; None if all of it is as it should."""
    for step, outcome in outcomes:
        if outcome.result == "refused":
            return because("repair-refused", outcome.reason, step=step.id)
    for row in verified:
        if row.state is not State.GONE:
            finding = row.finding.id
            return because(
                "repair-not-verified", row.reason, finding=finding, state=row.state.value
            )
    return None


def hosts_of(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """The hosts, by name, on which a plan changes what is held."""
    roots = frozenset().union(*(_hosts(step, facts) for step in plan.steps))
    return tuple(sorted(facts.provider_names.get(root, root) for root in roots))


def _came_back(one: Sighting, repairs: Repairs) -> bool:
    """Whether a finding was gone or repaired, and is there, and no person has ended a stop since.

    One that comes back before the next round is not seen to be gone.
    """
    again = one.began_again if one.returned else repairs.repaired.get(one.id)
    return again is not None and (repairs.released_at is None or again > repairs.released_at)


def _refusal(step: Step, rulings: Mapping[str, Ruling]) -> Reason | None:
    ruling = rulings.get(step.id)
    if ruling is None:
        return because("repair-without-rule")
    if ruling.decision != "automatic":
        rule, policy, passed = ruling.rule, ruling.policy, ruling.passed_over
        decision = ruling.decision
        return because("repair-ruled-out", passed, rule=rule, policy=policy, decision=decision)
    return unproven(step)


def _hosts(step: Step, facts: Facts) -> frozenset[str]:
    """The roots of the trees in which a step changes what is held."""
    return frozenset().union(*(facts.roots_of(amounts) for amounts in _changed(step)))


def _changed(step: Step) -> Iterator[Mapping[str, Mapping[str, int]]]:
    """What consumers hold, before or after the step, of providers where that changes."""
    for change in step.changes:
        before, after = held_in(change.before), held_in(change.after)
        for consumer in before.keys() | after.keys():
            sides = (before.get(consumer), after.get(consumer))
            was, becomes = (dict(side.amounts) if side else {} for side in sides)
            uuids = was.keys() | becomes.keys()
            yield {
                uuid: {**was.get(uuid, {}), **becomes.get(uuid, {})}
                for uuid in uuids
                if was.get(uuid) != becomes.get(uuid)
            }
