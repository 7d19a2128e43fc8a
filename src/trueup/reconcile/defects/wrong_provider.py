# SPDX-License-Identifier: Apache-2.0
"""Allocation on the wrong provider: a settled instance holds its host's share on another host.

Drift B.16 and A.2a: heal_allocations calls this "up-to-date".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.expected import ExpectedAllocation, expected_on, open_reasons
from trueup.reconcile.facts import Amounts, ComputeNode, Facts, Instance
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
from trueup.reconcile.remedies import abandoned_host, guarded_step, no_guest
from trueup.reconcile.residence import Placed, residence, source_is_up
from trueup.reconcile.steps import Guard, Step

NAME = "wrong-provider"
TITLE = "It holds its resources on a host where it is not"
REMEDY = "Hold what it should on its own host, and nothing of the other"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold something on hosts, but nothing on their own."""
    for uuid in sorted(facts.alive.keys() & facts.consumers.keys()):
        instance = facts.alive[uuid]
        roots = facts.roots_of(facts.consumers[uuid])
        place = residence(instance, facts)
        if isinstance(place, Placed) and roots and place.provider.root not in roots:
            yield _judge(instance, place, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """One full replace: what it should hold on its own host, and nothing of the other."""
    instance = facts.alive[finding.subject.uuid]
    place = residence(instance, facts)
    held = facts.holdings[instance.uuid].allocations
    if held is None or not isinstance(place, Placed):
        return Declined("it is no longer settled on a host, or holds nothing now")
    wanted = expected_on(place.provider.root, instance, facts)
    if wanted.open or not wanted.known:
        return Declined("what it should hold on its own host is not known")
    after = {instance.uuid: replace(held, amounts=_moved(held.amounts, wanted, facts))}
    [root] = facts.roots_of(held.amounts)
    guards = (
        guard
        for node in facts.nodes_by_uuid.get(root, ())
        for guard in _guards(node, instance, facts)
    )
    return (guarded_step(after, facts, finding, instance, guards),)


def _moved(held: Amounts, wanted: ExpectedAllocation, facts: Facts) -> Amounts:
    """What it should hold on its own host. SAFETY: of a pool that does not share with the other
    host, why it is held is not known, and so it is kept.
    """
    roots = facts.roots_of(held)
    kept = {
        uuid: amounts
        for uuid, amounts in held.items()
        if (provider := facts.providers.get(uuid))
        and provider.sharing
        and not provider.shares_with & roots
    }
    return kept | dict(wanted.known)


def _classes(holdings: Iterable[Mapping[str, int]]) -> frozenset[str]:
    """The resource classes; shared and dedicated processors count as one, as the host decides."""
    names = {name for held in holdings for name in held}
    return frozenset("VCPU" if name == "PCPU" else name for name in names)


def _guards(node: ComputeNode, instance: Instance, facts: Facts) -> Iterator[Guard]:
    if instance.uuid in facts.evacuations:
        yield from abandoned_host(node.cell, node.host, instance, facts)
    else:
        yield from no_guest(node.host, instance, facts)


def _judge(instance: Instance, place: Placed, facts: Facts) -> Verdict:
    held = facts.consumers[instance.uuid]
    names = facts.provider_names
    where = ", ".join(sorted(names.get(root, root) for root in facts.roots_of(held)))
    wanted = expected_on(place.provider.root, instance, facts)
    if reason := _obstacle(instance, held, wanted, facts):
        return Unchecked(
            Subject("instance", instance.uuid),
            where,
            f"holds nothing on its host {instance.host}, but "
            f"{amounts_in_words(held, names)}; {reason}",
        )
    return Finding(
        NAME,
        Subject("instance", instance.uuid),
        where,
        Severity.HIGH,
        {
            "instance": instance_evidence(instance, facts),
            "holds": holding(held, names),
            "should_hold": holding(_moved(held, wanted, facts), names),
        },
    )


def _obstacle(
    instance: Instance, held: Amounts, wanted: ExpectedAllocation, facts: Facts
) -> str | None:
    """Why the move cannot be told to be right, if so."""
    roots = facts.roots_of(held)
    if len(roots) > 1:
        return "which of them was its own cannot be told"
    [root] = roots
    if root not in facts.nodes_by_uuid:
        return "that provider is of no compute node that any cell knows"
    if instance.uuid in facts.evacuations and source_is_up(root, facts):
        return "it was evacuated, and that host is up and may still run it"
    if wanted.open:
        return open_reasons(wanted, facts.provider_names)
    if not wanted.known:
        return "what it should hold is not known"
    if strange := _classes(held.values()) - _classes(wanted.known.values()):
        # SAFETY: it would be released, and why it is held is not known.
        return f"on its own host it should hold no {', '.join(sorted(strange))}"
    return facts.coverage.gap or None
