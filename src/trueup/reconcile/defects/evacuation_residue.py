# SPDX-License-Identifier: Apache-2.0
"""Residue of an evacuation: an evacuated instance still holds resources of the host it left.

Seed 001, drift B.1, Launchpad 1829479: the source's claim stays until its nova-compute comes back,
which it may never do.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.expected import covers, expected_on, open_reasons
from trueup.reconcile.facts import Amounts, Facts, Instance, Migration
from trueup.reconcile.findings import (
    Declined,
    Finding,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Verdict,
    amounts_in_words,
    holding,
    instance_evidence,
    service_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.remedies import abandoned_host, guarded_step
from trueup.reconcile.residence import Placed, residence, services_of, source_is_up
from trueup.reconcile.steps import Step

NAME = "evacuation-residue"
TITLE = "It was evacuated, and still holds resources of the host it left"
REMEDY = "Keep what it holds elsewhere, release what it holds on the host it left"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold on their own host and on one they were evacuated from."""
    for uuid in sorted(facts.evacuations.keys() & facts.consumers.keys() & facts.alive.keys()):
        instance = facts.alive[uuid]
        place = residence(instance, facts)
        if isinstance(place, Placed):
            yield from _judge(instance, place, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """One full replace that keeps every provider outside the trees it was evacuated from."""
    instance = facts.alive[finding.subject.uuid]
    place = residence(instance, facts)
    held = facts.holdings[instance.uuid].allocations
    if held is None or not isinstance(place, Placed):
        return Declined("it is no longer settled on a host, or holds nothing now")
    left = _left_roots(instance, place, facts)
    kept = _outside(held.amounts, left, facts)
    if not covers(kept, expected_on(place.provider.root, instance, facts)):
        return Declined("it would hold less afterwards than it should")
    after = {instance.uuid: replace(held, amounts=kept)}
    guards = (
        guard
        for row in left.values()
        if row.status == "done"
        for guard in abandoned_host(row.cell, row.source_host or "", instance, facts)
    )
    return (guarded_step(after, facts, finding, instance, guards),)


def _judge(instance: Instance, place: Placed, facts: Facts) -> Iterator[Verdict]:
    held = facts.consumers[instance.uuid]
    left = _left_roots(instance, place, facts)
    if not left or place.provider.root not in facts.roots_of(held):
        return
    names = facts.provider_names
    where = ", ".join(sorted(names.get(root, root) for root in left))
    subject = Subject("instance", instance.uuid)
    if reason := _obstacle(instance, place, left, facts):
        yield Unchecked(subject, where, reason)
        return
    yield Finding(
        NAME,
        subject,
        where,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(instance, facts),
            "evacuation": tuple(_evacuation(row, root, facts) for root, row in left.items()),
            "holds": holding(_within(held, left, facts), names),
        },
        since=max((row.updated_at for row in left.values() if row.updated_at), default=None),
    )


def _obstacle(
    instance: Instance, place: Placed, left: dict[str, Migration], facts: Facts
) -> str | None:
    """Why nothing may be released, if so."""
    names = facts.provider_names
    for root, evacuation in left.items():
        if evacuation.status == "done" and source_is_up(root, facts):
            # SAFETY: that host may still run the guest; freeing its capacity would hide it.
            return (
                f"evacuated from {names.get(root, root)}, whose nova-compute is up but has not "
                "cleaned up: restart it, or force the service down"
            )
    if not facts.coverage.complete:
        return f"holds resources of a host it was evacuated from, but {facts.coverage.gap}"
    held = facts.consumers[instance.uuid]
    kept = _outside(held, left, facts)
    wanted = expected_on(place.provider.root, instance, facts)
    if not covers(kept, wanted):
        # SAFETY: part of a claim, as of a port alone, is no claim of the destination.
        return (
            f"without what it holds of the host it was evacuated from it would hold "
            f"{amounts_in_words(kept, names)}, which is not shown to be all that it should: "
            f"{amounts_in_words(wanted.known, names)}"
            + (f"; {open_reasons(wanted, names)}" if wanted.open else "")
        )
    return None


def _evacuation(row: Migration, root: str, facts: Facts) -> Structure:
    """An evacuation as evidence, with what is known of the service of the host it left."""
    return {
        "status": row.status,
        "source_host": row.source_host,
        **service_evidence(services_of(root, facts), facts.taken_at),
    }


def _left_roots(instance: Instance, place: Placed, facts: Facts) -> dict[str, Migration]:
    """The roots the instance was evacuated from and still holds something of."""
    held = facts.roots_of(facts.consumers[instance.uuid])
    left = {}
    for evacuation in facts.evacuations.get(instance.uuid, ()):
        root = _source_root(evacuation, facts)
        if root in held and root != place.provider.root:
            left[root] = evacuation
    return left


def _source_root(evacuation: Migration, facts: Facts) -> str | None:
    """The source's root provider: by its compute node, or by name when that row is deleted."""
    place = (evacuation.cell, evacuation.source_host or "", evacuation.source_node or "")
    nodes = facts.nodes_by_place.get(place, ())
    if len(nodes) == 1 and (provider := facts.providers.get(nodes[0].uuid)):
        return provider.root
    namesakes = facts.providers_by_name.get(evacuation.source_node or "", ())
    return namesakes[0].root if not nodes and len(namesakes) == 1 else None


def _outside(amounts: Amounts, roots: dict[str, Migration], facts: Facts) -> Amounts:
    left = _within(amounts, roots, facts)
    return {uuid: held for uuid, held in amounts.items() if uuid not in left}


def _within(amounts: Amounts, roots: dict[str, Migration], facts: Facts) -> Amounts:
    return {
        uuid: held
        for uuid, held in amounts.items()
        if (provider := facts.providers.get(uuid))
        and provider.root in roots
        and not provider.sharing
    }
