# SPDX-License-Identifier: Apache-2.0
"""A narrowed plan: some of its findings, chosen by defect or by the effect of their steps. Pure."""

from dataclasses import dataclass, replace
from enum import StrEnum

from trueup.reconcile.plan.plan import NotPlanned, Plan
from trueup.reconcile.reasons import because
from trueup.reconcile.steps import AllocationsOf, PortBinding, Step, releases, step_growth

LEFT_OUT = because("left-out-by-option")


class Direction(StrEnum):
    """Whether a step only adds to allocations, or only releases them."""

    ADDS = "adds"
    RELEASES = "releases"


@dataclass(frozen=True, slots=True)
class Only:
    """Which findings to keep: those of these defects (empty: all), whose steps go one way."""

    defects: frozenset[str] = frozenset()
    direction: Direction | None = None

    @property
    def everything(self) -> bool:
        return not self.defects and self.direction is None


def direction_of(step: Step) -> Direction | None:
    """The direction of a step; None if it moves something, or changes more than allocations."""
    if not all(isinstance(change.target, AllocationsOf | PortBinding) for change in step.changes):
        return None
    takes, gives = releases(step), any(amount > 0 for amount in step_growth(step).values())
    if takes == gives:
        return None
    return Direction.RELEASES if takes else Direction.ADDS


def narrowed(plan: Plan, only: Only) -> Plan:
    """The plan without the unwanted findings, which it declines as left out.

    A finding is kept only with all its steps and all the steps that these need. SAFETY: nothing is
    added, so the kept steps are guarded as before.
    """
    if only.everything:
        return plan
    left_out = {row.id for row in plan.findings if only.defects and row.defect not in only.defects}
    if only.direction is not None:
        for step in plan.steps:
            if direction_of(step) is not only.direction:
                left_out.update(step.because)
    kept = without(plan, left_out)
    declined = [NotPlanned(row, LEFT_OUT) for row in plan.findings if row not in kept.findings]
    return replace(kept, declined=(*plan.declined, *declined))


def without(plan: Plan, left_out: set[str]) -> Plan:
    """The plan without these findings (ids), and without those that need a step of theirs."""
    left_out = set(left_out)
    steps = _without(plan.steps, left_out)
    kept = {step.id for step in steps}
    return replace(
        plan,
        findings=tuple(row for row in plan.findings if row.id not in left_out),
        steps=steps,
        effects=tuple(effect for effect in plan.effects if effect.step in kept),
        rulings={step: ruling for step, ruling in plan.rulings.items() if step in kept},
    )


def _without(steps: tuple[Step, ...], left_out: set[str]) -> tuple[Step, ...]:
    """The steps for other findings; `left_out` grows by findings whose steps lack a needed step."""
    while True:
        kept = tuple(step for step in steps if left_out.isdisjoint(step.because))
        ids = {step.id for step in kept}
        lacking = [step for step in kept if not ids.issuperset(step.needs)]
        if not lacking:
            return kept
        for step in lacking:
            left_out.update(step.because)
