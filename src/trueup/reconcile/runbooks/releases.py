# SPDX-License-Identifier: Apache-2.0
"""Releases: the steps of a plan that take all of some providers from a consumer. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from trueup.reconcile.plan import Plan
from trueup.reconcile.steps import Step


@dataclass(frozen=True, slots=True)
class Releases:
    """Steps in the order of their plan, and the step that releases each consumer."""

    steps: tuple[Step, ...]
    by_consumer: Mapping[str, Step]


def releases_of(plan: Plan, consumers: Iterable[str], providers: Container[str]) -> Releases:
    """The steps that release these providers from these consumers, with the steps they need."""
    by_id = {step.id: step for step in plan.steps}
    releasing = {
        consumer: step
        for step in plan.steps
        for consumer in step.consumers
        if step.takes_all(consumer, providers)
    }
    found = {consumer: releasing[consumer] for consumer in consumers if consumer in releasing}
    wanted: set[str] = set()
    waiting = [step.id for step in found.values()]
    while waiting:
        step_id = waiting.pop()
        if step_id not in wanted:
            wanted.add(step_id)
            waiting += by_id[step_id].needs
    return Releases(tuple(step for step in plan.steps if step.id in wanted), found)
