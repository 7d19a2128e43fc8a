# SPDX-License-Identifier: Apache-2.0
"""Plan: confirmed findings → ordered, guarded steps, complete in themselves. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from trueup.reconcile.audit import Confirmed
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import DomainRecord, Facts, Holding
from trueup.reconcile.plan.dependencies import (
    after_domain_removal,
    after_release,
    removed_by,
)
from trueup.reconcile.plan.order import Effect, ordered
from trueup.reconcile.plan.policy import Decision
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step, VersionIs, digest_of, held_in, parts_of
from trueup.reconcile.verdicts import CONSUMERS, AuditOptions, Finding

FORMAT = 1
# cell0 has this uuid in every cloud.
CELL_ZERO = "00000000-0000-0000-0000-000000000000"

# Design, invariant 14: a plan that changes more is stopped until the limit is raised by name.
SUBJECTS_MAX = 25
CONSUMERS_SHARE_MAX = 0.01

_REMEDIES = {defect.NAME: defect.remedy for defect in DEFECTS}

# The steps for a finding, or why there are none; None: this plan is not about it.
Remedy = Callable[[Finding, Facts], tuple[Step, ...] | Reason | None]

_NOTHING_UNREAD: Mapping[str, str] = {}


def remedy_of_defect(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """The remedy that a finding's defect proposes."""
    return _REMEDIES[finding.defect](finding, facts)


@dataclass(eq=False)
class PlanStale(Exception):
    """The plan is older than it may be. `run`: so many of its steps are in place already."""

    made_at: datetime
    age: timedelta
    age_max: timedelta
    run: str = ""
    in_place: int = 0
    steps: int = 0


@dataclass(eq=False)
class PlanForeign(Exception):
    """The plan was made for another cloud; the cells (by uuid) are not the same."""

    planned: tuple[str, ...]
    found: tuple[str, ...]


@dataclass(eq=False)
class LimitExceeded(Exception):
    """The plan touches more consumers, providers, ports … than one plan may."""

    subjects: int
    limit: int


@dataclass(frozen=True, slots=True)
class NotPlanned:
    """A confirmed finding for which no step is proposed, and why."""

    finding: Finding
    reason: Reason


@dataclass(frozen=True, slots=True)
class Proposal:
    """The joint remedy of several findings: `findings` have `steps`, in order."""

    findings: tuple[Finding, ...]
    declined: tuple[NotPlanned, ...]
    steps: tuple[Step, ...]
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a policy says of a step: the decision, and the rule and the file that it is from.

    `approvals` is how many persons have to approve the step. `passed_over`: an earlier rule is for
    fewer subjects.
    """

    decision: Decision
    rule: str
    policy: str
    approvals: int = 0
    passed_over: Reason | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order, with what they were made from. `cells` shows which cloud it is for.

    `first_at` and `made_at` are the times of the two observations. `findings` have steps.
    `effects` say what each step does to capacity and to the usage of projects. `options` and
    `selection` are those of the audits: every later audit for this plan uses them again. `made_by`
    is the account and the host that made it. `rulings` are those of the policies that were in force
    then, by step; another policy may be in force when the plan is applied.
    """

    made_at: datetime
    first_at: datetime
    cells: tuple[str, ...]
    consumers: int
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]
    declined: tuple[NotPlanned, ...] = ()
    effects: tuple[Effect, ...] = ()
    # The names of cells, of providers, and of the instances that its steps are about, by uuid.
    names: Mapping[str, str] = field(default_factory=dict)
    undoes: str | None = None
    options: AuditOptions = field(default_factory=AuditOptions)
    selection: Selection = EVERYTHING
    format: int = FORMAT
    made_by: str = ""
    rulings: Mapping[str, Ruling] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A digest of the whole content."""
        return digest_of(self)

    @property
    def id(self) -> str:
        """A short name made from the whole content."""
        return f"{self.made_at:%Y%m%dT%H%M%S}-{self.digest[:8]}"

    @property
    def subjects(self) -> frozenset[str]:
        """Everything that its steps change, by uuid or name; for a reshape, all consumers."""
        return frozenset(subject for step in self.steps for subject in step.subjects)

    @property
    def limit(self) -> int:
        """How many subjects the plan may change unless the operator raises the limit."""
        return max(SUBJECTS_MAX, int(self.consumers * CONSUMERS_SHARE_MAX))


def consumers_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """The consumers whose allocations remedies may change: a plan needs their holdings."""
    found = {consumer for finding in findings for consumer in finding.consumers}
    found |= {row.subject.uuid for row in findings if row.subject.kind in CONSUMERS}
    return tuple(sorted(found))


def domains_wanted(confirmed: Confirmed) -> tuple[tuple[str, str], ...]:
    """The host and uuid of each domain whose definition a remedy may remove."""
    facts = confirmed.second.facts
    found = (finding.subject.uuid for finding in confirmed.findings)
    deleted = (uuid for uuid in found if uuid in facts.deleted)
    rows = {(row.host, uuid) for uuid in deleted for row in facts.domains_of.get(uuid, ())}
    return tuple(sorted(rows))


def make_plan(
    confirmed: Confirmed,
    holdings: Mapping[str, Holding],
    domain_records: Iterable[DomainRecord] = (),
    remedy_of: Remedy = remedy_of_defect,
    unread: Mapping[str, str] = _NOTHING_UNREAD,
) -> Plan:
    """Ask the remedy of each finding; the plan also has the declined findings, with the reasons.

    `holdings` are those of `consumers_of` the findings, and `domain_records` the definitions that
    `domains_wanted` names. Both are read after the second observation. `unread` says why a holding
    could not be read.
    """
    facts = replace(confirmed.second.facts, holdings=holdings, domain_records=tuple(domain_records))
    proposal = proposed(confirmed.findings, facts, remedy_of, unread)
    return Plan(
        made_at=facts.taken_at,
        first_at=confirmed.first_at,
        cells=tuple(sorted(facts.cells)),
        consumers=len(facts.consumers),
        findings=proposal.findings,
        declined=proposal.declined,
        steps=proposal.steps,
        effects=proposal.effects,
        names=_names(proposal.steps, facts),
    )


def proposed(
    findings: Iterable[Finding],
    facts: Facts,
    remedy_of: Remedy = remedy_of_defect,
    unread: Mapping[str, str] = _NOTHING_UNREAD,
) -> Proposal:
    """The steps for all these findings together, in order, and the declined findings.

    Remedies may conflict, and a step may need another step. So both plans and forecasts of plans
    call this function.
    """
    planned: dict[str, Finding] = {}
    found: list[Finding] = []
    declined: list[NotPlanned] = []
    steps: list[Step] = []
    for finding in findings:
        remedy = _remedied(finding, facts, planned, remedy_of, unread)
        if remedy is None:
            continue
        if isinstance(remedy, Reason):
            declined.append(NotPlanned(finding, remedy))
            continue
        found.append(finding)
        steps += remedy
        planned |= {part: finding for step in remedy for part in _touched(step)}
    removing = [step for step in steps if removed_by(step)]
    kept = {row.finding.subject.uuid: row.reason for row in declined}
    rest = tuple(step for step in steps if step not in removing)
    others = after_domain_removal(rest, facts, kept)
    order = ordered(others.steps, facts)
    removals = after_release(removing, order.steps, facts)
    not_possible = (*others.in_use, *order.without_room, *removals.in_use)
    without_room = {reason: row.reason for row in not_possible for reason in row.step.because}
    in_order = (*order.steps, *removals.steps)
    declined += [
        NotPlanned(finding, without_room[finding.id])
        for finding in found
        if finding.id in without_room
    ]
    return Proposal(
        findings=tuple(finding for finding in found if finding.id not in without_room),
        declined=tuple(declined),
        steps=in_order,
        effects=order.effects,
    )


def _remedied(
    finding: Finding,
    facts: Facts,
    planned: Mapping[str, Finding],
    remedy_of: Remedy,
    unread: Mapping[str, str],
) -> tuple[Step, ...] | Reason | None:
    consumers = consumers_of([finding])
    for consumer in consumers:
        if consumer in unread:
            return because("holding-unreadable", consumer=consumer, error=unread[consumer])
    if not facts.holdings.keys() >= set(consumers):
        return because("holding-not-read")
    steps = remedy_of(finding, facts)
    if steps is None or isinstance(steps, Reason):
        return steps
    for consumer in consumers:
        held = facts.holdings[consumer].allocations
        if (held.amounts if held else {}) != facts.consumers.get(consumer, {}):
            return because("holding-changed")
    # SAFETY: two steps for one subject would each undo what the other writes.
    for part in sorted(part for step in steps for part in _touched(step)):
        if part in planned:
            other = planned[part].id
            return because("remedies-conflict", finding=other)
    return steps


def _touched(step: Step) -> frozenset[str]:
    """The subjects that a step changes, and those whose version it guards."""
    relied = (guard.target for guard in step.guards if isinstance(guard, VersionIs))
    return step.subjects.union(*map(parts_of, relied))


def _names(steps: Sequence[Step], facts: Facts) -> dict[str, str]:
    """The names of the subjects of steps, and of all cells, by uuid."""
    states = (
        side for step in steps for change in step.changes for side in (change.before, change.after)
    )
    held = (row for state in states for row in held_in(state).values() if row)
    uuids = {uuid for row in held for uuid in row.amounts}
    uuids |= {uuid for step in steps for uuid in step.subjects}
    known = {
        **{row.uuid: f"{row.kind} of {_called(row.instance, facts)}" for row in facts.migrations},
        **{uuid: _called(uuid, facts) for uuid in uuids & facts.instance_rows.keys()},
        **facts.provider_names,
    }
    return {**facts.cells, **{uuid: known[uuid] for uuid in sorted(uuids & known.keys())}}


def _called(instance: str, facts: Facts) -> str:
    row = facts.alive.get(instance) or facts.deleted.get(instance)
    return row.name if row else instance


def refuse_unfit(plan: Plan, cells: Iterable[str], now: datetime, age_max: timedelta) -> None:
    """Raise PlanForeign or PlanStale when the plan is not for this cloud at this time.

    SAFETY: a plan of the future is no younger: a clock was set back, or it was edited.
    """
    refuse_foreign(plan, cells)
    age = now - plan.made_at
    if abs(age) > age_max:
        raise PlanStale(plan.made_at, age, age_max)


def refuse_foreign(plan: Plan, cells: Iterable[str]) -> None:
    """Raise PlanForeign when the plan is for another cloud."""
    found = tuple(sorted(cells))
    if plan.cells != found:
        raise PlanForeign(plan.cells, found)


def of_this_cloud(plan: Plan, cells: Iterable[str]) -> bool:
    """Whether a plan was made for the cloud that has, or had, these cells."""
    return not {*plan.cells, CELL_ZERO}.isdisjoint({*cells} - {CELL_ZERO})


def refuse_too_large(plan: Plan, limit: int | None) -> None:
    """Raise LimitExceeded if the plan changes more than `limit`, or by default its own limit."""
    allowed = plan.limit if limit is None else limit
    if len(plan.subjects) > allowed:
        raise LimitExceeded(len(plan.subjects), allowed)


def in_reverse(plan: Plan, steps: Iterable[Step], run: str) -> Plan:
    """A plan of these steps for the same cloud, which undoes a run of `plan`."""
    return replace(plan, steps=tuple(steps), declined=(), effects=(), undoes=run)
