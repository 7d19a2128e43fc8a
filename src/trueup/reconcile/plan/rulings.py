# SPDX-License-Identifier: Apache-2.0
"""Rulings: what the policies in force say of each step of a plan. Pure.

A step is decided case by case: for each of its findings, cells, hosts and projects. SAFETY: the
strictest of these decisions, and of the policies in force, is that of the step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product

from msgspec import structs

from trueup.reconcile.plan.narrowed import direction_of, without
from trueup.reconcile.plan.plan import NotPlanned, Plan, Ruling
from trueup.reconcile.plan.policy import Case, Decision, Policy
from trueup.reconcile.plan.policy_file import InForce
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import Step, held_in

_STRICTER: tuple[Decision, ...] = ("automatic", "ask", "approval", "never")


@dataclass(eq=False)
class StepForbidden(Exception):
    """A policy never lets this step be written."""

    step: str
    ruling: Ruling


@dataclass(eq=False)
class WritesClosed(Exception):
    """A policy lets nothing be written at this time, or is another one than when a run began."""

    policy: str
    reason: Reason


def rulings_of(plan: Plan, policies: Iterable[InForce]) -> dict[str, Ruling]:
    """The ruling of each step, by its id; empty if no policy decides anything."""
    found: dict[str, Ruling] = {}
    for named in policies:
        policy = named.policy
        if not (policy.rules or policy.default):
            continue
        for step in plan.steps:
            rulings = [_ruling(case, policy, named.path) for case in _cases(step, plan)]
            known = [found[step.id]] if step.id in found else []
            found[step.id] = max((*known, *rulings), key=_strictness)
    return found


def obeying(plan: Plan, policies: Iterable[InForce]) -> Plan:
    """The plan with its rulings, without the findings of steps that a policy never permits.

    These are declined.
    """
    rulings = rulings_of(plan, policies)
    forbidden = {
        reason: rulings[step.id]
        for step in plan.steps
        if step.id in rulings and rulings[step.id].decision == "never"
        for reason in step.because
    }

    def why(finding: str) -> Reason:
        ruling = forbidden.get(finding)
        if ruling is None:
            return because("policy-needs-step")
        passed = ruling.passed_over
        return because("policy-never", passed, rule=ruling.rule, policy=ruling.policy)

    kept = without(plan, set(forbidden))
    ids = {step.id for step in kept.steps}
    left_out = [row for row in plan.findings if row not in kept.findings]
    return replace(
        kept,
        declined=(*kept.declined, *(NotPlanned(row, why(row.id)) for row in left_out)),
        rulings={step: ruling for step, ruling in rulings.items() if step in ids},
    )


def permitted(plan: Plan, rulings: Mapping[str, Ruling]) -> tuple[Ruling, ...]:
    """The rulings of a plan's steps. Raises StepForbidden if one is never permitted."""
    ruled = {step.id: rulings[step.id] for step in plan.steps if step.id in rulings}
    for step, ruling in ruled.items():
        if ruling.decision == "never":
            raise StepForbidden(step, ruling)
    return tuple(ruled.values())


def persons_needed(policies: Iterable[InForce], rulings: Iterable[Ruling]) -> int:
    """How many persons have to approve a plan with these rulings."""
    required = (named.policy.approval.required for named in policies)
    return max((*required, *(ruling.approvals for ruling in rulings)), default=0)


def refuse_closed(policies: Iterable[InForce], moment: datetime) -> None:
    """Raise WritesClosed while a policy is frozen, or none of its windows is open."""
    for named in policies:
        if reason := named.policy.closed(moment):
            raise WritesClosed(named.path, reason)


def refuse_changed(before: Sequence[InForce], after: Sequence[InForce]) -> None:
    """Raise WritesClosed if a policy is not as it was when a run began, or not in force then."""
    for named in (*before, *after):
        if named not in before or named not in after:
            raise WritesClosed(named.path, because("policy-changed"))


def _strictness(ruling: Ruling) -> tuple[int, int]:
    return _STRICTER.index(ruling.decision), ruling.approvals


def _ruling(case: Case, policy: Policy, path: str) -> Ruling:
    passed_over: Reason | None = None
    smallest = structs.replace(case, subjects=1)
    for number, rule in enumerate(policy.rules, 1):
        if not rule.fits(smallest):
            continue
        name = f"rule {number}" + (f" ({rule.name})" if rule.name else "")
        if rule.subjects_max is None or case.subjects <= rule.subjects_max:
            approvals = rule.approvals if rule.decision == "approval" else 0
            return Ruling(rule.decision, name, path, approvals, passed_over)
        passed_over = passed_over or because(
            "policy-too-many", subjects=case.subjects, rule=name, most=rule.subjects_max
        )
    approvals = policy.default_approvals if policy.default == "approval" else 0
    return Ruling(policy.default or "never", "default", path, approvals, passed_over)


def _cases(step: Step, plan: Plan) -> Iterator[Case]:
    """Everything that a step does, one by one."""
    severities = {row.id: row.severity for row in plan.findings}
    direction = direction_of(step)
    parts = product(step.because, _cells(step, plan), _hosts(step, plan), _projects(step))
    for reason, cell, host, project in parts:
        yield Case(
            defect=reason.partition(":")[0],
            severity=severities.get(reason),
            cell=cell,
            host=host,
            project=project,
            direction=direction.value if direction else "other",
            subjects=len(plan.subjects),
        )


def _cells(step: Step, plan: Plan) -> list[str | None]:
    """The names of the cells that its guards name."""
    uuids = {cell for guard in step.guards if (cell := getattr(guard, "cell", ""))}
    return _or_none(plan.names.get(uuid, uuid) for uuid in uuids)


def _hosts(step: Step, plan: Plan) -> list[str | None]:
    """The providers and hosts that it changes, by name; else those where its findings are."""
    held = [
        (held_in(change.before), held_in(change.after), change.target) for change in step.changes
    ]
    uuids = {
        uuid
        for sides in held
        for side in sides[:2]
        for row in side.values()
        if row is not None
        for uuid in row.amounts
    }
    targets = [target for _, _, target in held]
    uuids |= {uuid for target in targets if (uuid := getattr(target, "provider", ""))}
    uuids |= {uuid for target in targets for uuid in getattr(target, "providers", ())}
    names = {plan.names.get(uuid, uuid) for uuid in uuids}
    names |= {host for target in targets if (host := getattr(target, "host", ""))}
    places = (row.where for row in plan.findings if row.id in step.because)
    return _or_none(names or {name for where in places for name in where.split(", ") if name})


def _projects(step: Step) -> list[str | None]:
    """The projects whose consumers it changes."""
    sides = (side for change in step.changes for side in (change.before, change.after))
    held = (row for side in sides for row in held_in(side).values())
    return _or_none(row.project for row in held if row is not None)


def _or_none(names: Iterable[str]) -> list[str | None]:
    return [*sorted(set(names))] or [None]
