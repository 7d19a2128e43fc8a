# SPDX-License-Identifier: Apache-2.0
"""A plan as a diff: the removals and additions of each step, its guards, and its effect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from trueup.reconcile.plan import Effect, Plan
from trueup.reconcile.report.guards import guard_in_words
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.states import before_and_after
from trueup.reconcile.report.words import decision_in_words, evidence_in_words
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import Finding
from trueup.reconcile.wording import counted

Kind = Literal["header", "step", "removed", "added", "kept", "note", "declined"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff; its kind says how it may be coloured."""

    kind: Kind
    text: str


def plan_diff(plan: Plan) -> Iterator[DiffLine]:
    """The whole plan, line by line."""
    yield from _header(plan)
    names = plan.names
    findings = {finding.id: finding for finding in plan.findings}
    effects = {effect.step: effect for effect in plan.effects}
    for number, step in enumerate(plan.steps, 1):
        subjects = (f"{names.get(uuid, '')} {uuid}".strip() for uuid in sorted(step.subjects))
        yield DiffLine("step", f"step {number}: {', '.join(subjects)}")
        yield from _because(step, findings)
        yield from _changes(step, names)
        if step.id in effects:
            yield from _effect(effects[step.id])
        if ruling := plan.rulings.get(step.id):
            yield DiffLine(
                "note",
                f"  policy: {decision_in_words(ruling)}, by {ruling.rule} of {ruling.policy}",
            )
        for guard in step.guards:
            yield DiffLine("note", f"  guard: {guard_in_words(guard, names)}")
        for need in step.needs:
            yield DiffLine("note", f"  after: {need}")
    for declined in plan.declined:
        yield DiffLine(
            "declined", f"no step for {declined.finding.id}: {in_words(declined.reason)}"
        )


def _header(plan: Plan) -> Iterator[DiffLine]:
    undoes = f", undoes run {plan.undoes}" if plan.undoes else ""
    yield DiffLine("header", f"plan {plan.id}{undoes}")
    yield DiffLine(
        "note",
        f"observed at {plan.first_at:%Y-%m-%d %H:%M:%S} and {plan.made_at:%Y-%m-%d %H:%M:%S} UTC, "
        f"in cells {', '.join(sorted(plan.names.get(cell, cell) for cell in plan.cells))}",
    )
    yield DiffLine(
        "note",
        f"{counted(len(plan.steps), 'step')} for {counted(len(plan.findings), 'finding')}, "
        f"{counted(len(plan.subjects), 'subject')} of at most {plan.limit}, "
        f"{len(plan.declined)} declined",
    )


def _because(step: Step, findings: Mapping[str, Finding]) -> Iterator[DiffLine]:
    for reason in step.because:
        yield DiffLine("note", f"  {reason}")
        if reason in findings:
            for label, words in evidence_in_words(findings[reason].evidence).items():
                yield DiffLine("note", f"    {label}: {words}")


def _changes(step: Step, names: Mapping[str, str]) -> Iterator[DiffLine]:
    before, after = before_and_after(step, names)
    for part in sorted(before.keys() | after.keys()):
        if before.get(part) == after.get(part):
            yield DiffLine("kept", f"    {part}: {after[part]}")
            continue
        if part in before:
            yield DiffLine("removed", f"  - {part}: {before[part]}")
        if part in after:
            yield DiffLine("added", f"  + {part}: {after[part]}")


def _effect(effect: Effect) -> Iterator[DiffLine]:
    for host in effect.hosts:
        yield DiffLine(
            "note",
            f"  {host.name}: {host.resource_class} used {host.used_before} -> {host.used_after} "
            f"of {host.capacity}",
        )
    for project in effect.projects:
        yield DiffLine(
            "note", f"  project {project.project}: {project.resource_class} {project.change:+d}"
        )
