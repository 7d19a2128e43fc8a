# SPDX-License-Identifier: Apache-2.0
"""Apply: a plan → the cloud. Each step: re-read its guard, journal the intent, write, settle."""

from collections.abc import Iterator

from trueup.reconcile.facts import Holding
from trueup.reconcile.journal import Journal, Settled
from trueup.reconcile.plan import Plan
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.placement.client import WriteRefused
from trueup.reconcile.steps import InstanceMark, Step


def require_answers(plan: Plan, cloud: Cloud) -> None:
    """Ask every source that the plan's guards will ask, before anything is written.

    Raises Unreachable, so that a plan is not left half applied for a reason known beforehand.
    """
    marks = (step.guard.instance for step in plan.steps if step.guard.instance)
    for planned in {mark.cell: mark for mark in marks}.values():
        cloud.nova.mark(planned.cell, planned.uuid)
    for step in plan.steps[:1]:
        cloud.placement.holding(step.consumer)


def apply(plan: Plan, cloud: Cloud, journal: Journal) -> Iterator[tuple[Step, Settled]]:
    """Settle each step in turn, going on where an earlier, killed run of the same plan stopped.

    Raises what the cloud raises when a source stops answering: the step at hand stays unsettled,
    and applying the plan again decides it.
    """
    for step in plan.steps:
        settled = journal.settled(step)
        # Only what is done is final: a guard that moved may have moved back.
        if settled is None or settled.result != "done":
            settled = _attempt(step, cloud, journal)
            journal.settle(settled)
        yield step, settled


def settle_interrupted(cloud: Cloud, journal: Journal) -> None:
    """Settle what a killed run intended and never settled, by what the cloud holds now."""
    for step in journal.plan.steps:
        if not journal.was_intended(step) or journal.settled(step):
            continue
        holding = cloud.placement.holding(step.consumer)
        if holding.allocations == step.after:
            journal.settle(_done(step, holding, cloud, journal))
        else:
            journal.settle(Settled(step.id, "refused", "interrupted before it was written"))


def _attempt(step: Step, cloud: Cloud, journal: Journal) -> Settled:
    holding = cloud.placement.holding(step.consumer)
    if journal.was_intended(step) and holding.allocations == step.after:
        # The process died between the write and its settling: it is done, once.
        return _done(step, holding, cloud, journal)
    moved = [*_moved_in_placement(step, holding, cloud, journal), *_moved_in_nova(step, cloud)]
    if moved:
        return Settled(step.id, "refused", "; ".join(moved))
    journal.intend(step)
    try:
        cloud.placement.replace(step.consumer, step.before, step.after, holding.generation)
    except WriteRefused as refusal:
        return Settled(step.id, "refused", refusal.reason)
    return _done(step, cloud.placement.holding(step.consumer), cloud, journal)


def _done(step: Step, holding: Holding, cloud: Cloud, journal: Journal) -> Settled:
    """Settle a written step, with the new generations of the providers that other steps guard."""
    touched = {uuid for side in (step.before, step.after) if side for uuid in side.amounts}
    guarded = {uuid for other in journal.plan.steps for uuid in other.guard.provider_generations}
    generations = {uuid: cloud.placement.provider_generation(uuid) for uuid in touched & guarded}
    return Settled(
        step.id,
        "done",
        generation=holding.generation,
        provider_generations={uuid: gen for uuid, gen in generations.items() if gen is not None},
    )


def _moved_in_placement(
    step: Step, holding: Holding, cloud: Cloud, journal: Journal
) -> Iterator[str]:
    if holding.allocations != step.before:
        yield "its allocations are not what they were"
    elif holding.generation != step.guard.consumer_generation:
        yield (
            f"its consumer generation was {step.guard.consumer_generation}, "
            f"it is {holding.generation}"
        )
    for uuid, planned in step.guard.provider_generations.items():
        # Our own steps move a provider's generation too: what this run left is expected.
        expected = journal.provider_generations.get(uuid, planned)
        found = cloud.placement.provider_generation(uuid)
        if found is None:
            yield f"provider {uuid} is gone"
        elif found != expected:
            yield f"the generation of provider {uuid} was {expected}, it is {found}"


def _moved_in_nova(step: Step, cloud: Cloud) -> Iterator[str]:
    planned = step.guard.instance
    if planned is None:
        return
    found = cloud.nova.mark(planned.cell, planned.uuid)
    if found is None:
        yield f"instance {planned.uuid} is gone from its cell"
        return
    for name in ("host", "node", "vm_state", "task_state", "deleted", "moving", "updated_at"):
        was, now = getattr(planned, name), getattr(found, name)
        if was != now and not _not_compared(planned, name):
            yield f"the instance's {name} was {was}, it is {now}"


def _not_compared(planned: InstanceMark, name: str) -> bool:
    return name == "updated_at" and planned.updated_at is None
