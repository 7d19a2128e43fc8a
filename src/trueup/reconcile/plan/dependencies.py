# SPDX-License-Identifier: Apache-2.0
"""Removals: steps that delete providers come after the steps that release their resources. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from trueup.reconcile.facts import Facts
from trueup.reconcile.plan.order import NoRoom
from trueup.reconcile.steps import DomainDefinition, Step, WholeProvider, held_in


@dataclass(frozen=True, slots=True)
class Removals:
    """Removals that can be made, with the steps that they need, and those that cannot."""

    steps: tuple[Step, ...]
    in_use: tuple[NoRoom, ...]


def removed_by(step: Step) -> str | None:
    """The provider that a step deletes; None if it deletes none."""
    for change in step.changes:
        if isinstance(change.target, WholeProvider) and change.after is None:
            return change.target.provider
    return None


def after_release(removals: Sequence[Step], others: Iterable[Step], facts: Facts) -> Removals:
    """Let each removal need the steps that release the resources of its provider.

    SAFETY: if a consumer holds resources that no step releases, no provider of that tree is
    deleted: all removals for one finding are made, or none.
    """
    releasing = {consumer: step for step in others for consumer in step.consumers}
    steps, in_use = [], {}
    for step in removals:
        provider = removed_by(step) or ""
        needs = list(step.needs)
        for consumer in facts.consumers_of.get(provider, ()):
            release = releasing.get(consumer)
            if release is None or not _releases(release, consumer, provider):
                name = facts.provider_names.get(provider, provider)
                reason = f"consumer {consumer} holds resources of {name}; repair that first"
                in_use.update(dict.fromkeys(step.because, reason))
            elif release.id not in needs:
                needs.append(release.id)
        steps.append(msgspec.structs.replace(step, needs=tuple(needs)))
    stay = [step for step in steps if in_use.keys() & set(step.because)]
    return Removals(
        tuple(step for step in steps if step not in stay),
        tuple(NoRoom(step, in_use[next(iter(set(step.because) & in_use.keys()))]) for step in stay),
    )


def _releases(step: Step, consumer: str, provider: str) -> bool:
    for change in step.changes:
        after = held_in(change.after)
        if consumer in after:
            held = after[consumer]
            return held is None or provider not in held.amounts
    return False


def after_undefining(steps: Sequence[Step]) -> list[Step]:
    """The same steps; what releases all that an instance holds needs its domain to be gone."""
    removing: dict[str, list[str]] = {}
    for step in steps:
        for uuid in undefined_by(step):
            removing.setdefault(uuid, []).append(step.id)
    return [_needing(step, removing) for step in steps]


def undefined_by(step: Step) -> Iterable[str]:
    """The domains, by uuid, whose definition a step removes."""
    for change in step.changes:
        if isinstance(change.target, DomainDefinition) and change.after is None:
            yield change.target.domain


def _needing(step: Step, removing: dict[str, list[str]]) -> Step:
    released = [
        consumer
        for change in step.changes
        for consumer, held in held_in(change.after).items()
        if held is None
    ]
    more = tuple(one for consumer in released for one in removing.get(consumer, ()))
    return msgspec.structs.replace(step, needs=(*step.needs, *more)) if more else step
