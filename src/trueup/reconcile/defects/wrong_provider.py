# SPDX-License-Identifier: Apache-2.0
"""Allocation on the wrong provider: a settled instance holds its host's share on another host.

Drift B.16 and A.2a: heal_allocations calls this "up-to-date".
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.facts import Amounts, Facts, Instance
from trueup.reconcile.findings import (
    Declined,
    Finding,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    amounts_in_words,
    holding,
    instance_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.residence import Placed, residence, source_is_up
from trueup.reconcile.steps import Step, step_on

NAME = "wrong-provider"
TITLE = "It holds its resources on a host where it is not"
REMEDY = "Move what it holds to the provider of its own host"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold something on hosts, but nothing on their own."""
    for uuid in sorted(facts.alive.keys() & facts.consumers.keys()):
        instance = facts.alive[uuid]
        roots = facts.roots_of(facts.consumers[uuid])
        place = residence(instance, facts)
        if isinstance(place, Placed) and roots and place.provider.root not in roots:
            yield _judge(instance, place, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """One full replace: the same amounts on its own host's provider, the rest as it is."""
    instance = facts.alive[finding.subject.uuid]
    place = residence(instance, facts)
    held = facts.holdings[instance.uuid].allocations
    if held is None or not isinstance(place, Placed):
        return Declined("it is no longer settled on a host, or holds nothing now")
    [root] = facts.roots_of(held.amounts)
    moved = _moved(held.amounts, root, place)
    return (step_on(instance.uuid, facts, replace(held, amounts=moved), finding.id, instance),)


def _judge(instance: Instance, place: Placed, facts: Facts) -> Verdict:
    held = facts.consumers[instance.uuid]
    names = facts.provider_names
    where = ", ".join(sorted(names.get(root, root) for root in facts.roots_of(held)))
    if reason := _obstacle(instance, held, place, facts):
        return Unchecked(
            Subject("instance", instance.uuid),
            where,
            f"holds nothing on its host {instance.host}, but "
            f"{amounts_in_words(held, names)}; {reason}",
        )
    [root] = facts.roots_of(held)
    return Finding(
        NAME,
        Subject("instance", instance.uuid),
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(instance, facts),
            "holds": holding(held, names),
            "should_hold": holding(_moved(held, root, place), names),
        },
    )


def _moved(held: Amounts, root: str, place: Placed) -> Amounts:
    """The same amounts, with those of the other host on the instance's own."""
    moved = {uuid: amounts for uuid, amounts in held.items() if uuid != root}
    return {**moved, place.provider.uuid: held[root]}


def _obstacle(instance: Instance, held: Amounts, place: Placed, facts: Facts) -> str | None:
    """Why the move cannot be told to be right, if so."""
    roots = facts.roots_of(held)
    on_hosts = {
        uuid for uuid in held if uuid in facts.providers and not facts.providers[uuid].sharing
    }
    if len(roots) > 1:
        return "which of them was its own cannot be told"
    if on_hosts != roots:
        return "the counterpart of a nested provider on its own host cannot be told"
    [root] = roots
    if root not in facts.nodes_by_uuid:
        return "that provider is of no compute node that any cell knows"
    if instance.uuid in facts.evacuations and source_is_up(root, facts):
        return "it was evacuated, and that host is up and may still run it"
    absent = sorted(held[root].keys() - place.provider.inventories.keys())
    if absent:
        return f"its own host has no inventory of {', '.join(absent)} on its root provider"
    if not facts.coverage.complete:
        return f"{', '.join(answer.source for answer in facts.coverage.missing)} did not answer"
    return None
