# SPDX-License-Identifier: Apache-2.0
"""Dependencies: a step comes after the steps that it needs, and is not made without them. Pure.

A provider is deleted after its resources are released. What a deleted instance holds is released
after its domain is gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from trueup.reconcile.facts import Facts
from trueup.reconcile.plan.order import NoRoom
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.steps import DomainDefinition, Step, WholeProvider, held_in

_NOTHING_KEPT: Mapping[str, Reason] = {}


@dataclass(frozen=True, slots=True)
class Arranged:
    """The steps that can be made, with the steps that they need, and the steps that cannot."""

    steps: tuple[Step, ...]
    in_use: tuple[NoRoom, ...]


def removed_by(step: Step) -> str | None:
    """The provider that a step deletes; None if it deletes none."""
    for change in step.changes:
        if isinstance(change.target, WholeProvider) and change.after is None:
            return change.target.provider
    return None


def after_release(removals: Sequence[Step], others: Iterable[Step], facts: Facts) -> Arranged:
    """Let each removal need the steps that release the resources of its provider.

    SAFETY: if a consumer holds resources that no step releases, no provider of that tree is
    deleted: a finding has all its removals, or none.
    """
    releasing = {consumer: step for step in others for consumer in step.consumers}
    steps, in_use = [], {}
    for step in removals:
        provider = removed_by(step) or ""
        needs = list(step.needs)
        for consumer in facts.consumers_of.get(provider, ()):
            release = releasing.get(consumer)
            if release is None or not release.takes_all(consumer, (provider,)):
                name = facts.provider_names.get(provider, provider)
                reason = because(
                    "provider-in-use", _first(provider, facts), consumer=consumer, provider=name
                )
                in_use.update(dict.fromkeys(step.because, reason))
            elif release.id not in needs:
                needs.append(release.id)
        steps.append(msgspec.structs.replace(step, needs=tuple(needs)))
    return _without(steps, in_use)


def _first(provider: str, facts: Facts) -> Reason:
    """What must precede the deletion of a provider: the runbook that says how each claim ends."""
    root = facts.providers[provider].root if provider in facts.providers else provider
    former = facts.deleted_nodes_by_uuid.get(root, ())
    if not former:
        return because("repair-claims-first")
    host = former[-1].host
    living = facts.nodes_by_host.get((former[-1].cell, host), ())
    if living:
        return because("repair-or-merge", root=root, node=living[0].uuid)
    return because("repair-or-retire", host=host)


def after_domain_removal(
    steps: Sequence[Step], facts: Facts, kept: Mapping[str, Reason] = _NOTHING_KEPT
) -> Arranged:
    """Let each step that releases all that an instance holds need the removal of its domains.

    `kept` says why a domain, by uuid, stays.
    SAFETY: somebody could start a domain that stays, and its guest would hold nothing. Then nothing
    is released: a finding has all its steps, or none.
    """
    removing = {
        (uuid, change.target.host): step.id
        for step in steps
        for change in step.changes
        for uuid in undefined_by(step)
        if isinstance(change.target, DomainDefinition)
    }
    needing, in_use = [], dict[str, Reason]()
    for step in steps:
        domains = [
            domain for uuid in _emptied_by(step, facts) for domain in facts.domains_of.get(uuid, ())
        ]
        needs = [removing.get((domain.uuid, domain.host)) for domain in domains]
        for domain, need in zip(domains, needs, strict=True):
            if need is None:
                why = kept.get(domain.uuid, because("domain-not-in-plan"))
                reason = because("domain-stays", why, host=domain.host)
                in_use.update(dict.fromkeys(step.because, reason))
        more = tuple(dict.fromkeys(need for need in needs if need and need not in step.needs))
        needing.append(msgspec.structs.replace(step, needs=(*step.needs, *more)) if more else step)
    return _without(needing, in_use)


def _emptied_by(step: Step, facts: Facts) -> Iterable[str]:
    """The instances on no host, deleted or offloaded, whose resources a step releases."""
    moves = facts.once(_instances_of_migrations)
    for change in step.changes:
        for consumer, held in held_in(change.after).items():
            uuid = moves.get(consumer, consumer)
            living = facts.alive.get(uuid)
            if held is None and (living is None or living.host is None):
                yield uuid


def _instances_of_migrations(facts: Facts) -> dict[str, str]:
    """The instance of each migration, by the migration's uuid."""
    return {row.uuid: row.instance for row in facts.migrations}


def undefined_by(step: Step) -> Iterable[str]:
    """The uuids of the domains whose definition a step removes."""
    for change in step.changes:
        if isinstance(change.target, DomainDefinition) and change.after is None:
            yield change.target.domain


def _without(steps: Sequence[Step], in_use: Mapping[str, Reason]) -> Arranged:
    """The steps without those for the findings in `in_use`, which has reasons by finding id."""
    stay = [step for step in steps if not in_use.keys().isdisjoint(step.because)]
    return Arranged(
        tuple(step for step in steps if step not in stay),
        tuple(
            NoRoom(step, in_use[next(finding for finding in step.because if finding in in_use)])
            for step in stay
        ),
    )
