# SPDX-License-Identifier: Apache-2.0
"""Steps that remove the definitions of the domains of deleted instances. Pure.

A plan has them only where nova-compute does not do this by itself (`left_to_nova`). `trueup ghosts`
has them everywhere, because an operator asked for them.

Disks are always kept. The hypervisor comes before the ledger: if a run stops in between, Placement
counts too much for a while. It never gives away what a domain that is still defined could use when
somebody starts it.
"""

from collections.abc import Collection, Iterator

import msgspec

from trueup.reconcile.facts import Domain, DomainRecord, Facts, Instance, instance_state
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import fresh
from trueup.reconcile.rules.residence import contradiction
from trueup.reconcile.steps import (
    Change,
    Discard,
    DomainDefinition,
    DomainIs,
    DomainText,
    Guard,
    Step,
    step_of,
)
from trueup.reconcile.verdicts import Finding


def domain_removals(
    finding: Finding, instance: Instance, facts: Facts, discards: Collection[Discard] = ()
) -> tuple[Step, ...] | Reason:
    """One step for each host that has the domain of a deleted instance.

    `discards` is what may be lost with the definitions. Any other loss is a reason to decline.
    """
    if instance.deleted_at is None:
        # SAFETY: without that time, nova-compute may be deleting the instance at this moment.
        return because("deletion-time-unknown")
    # A guest that runs is judged below.
    record_of_nova = msgspec.structs.replace(facts.record(instance.uuid), domains=())
    if reason := contradiction(record_of_nova, facts):
        return reason
    domains = [domain for domain in facts.domains_of.get(instance.uuid, ()) if domain.ours]
    records = [facts.record_of_domain.get((domain.host, domain.uuid)) for domain in domains]
    steps = []
    for domain, record in zip(domains, records, strict=True):
        if reason := _obstacle(domain, record, discards):
            return reason
        assert record is not None
        state = DomainText(record.xml)
        lost = tuple(sorted(_lost(domain, record) & frozenset(discards)))
        target = DomainDefinition(record.host, record.domain, lost)
        change = Change(target, state, None, {record.domain: state.digest})
        steps.append(step_of((change,), _guards(domain, instance, facts), (finding.id,)))
    return tuple(steps)


def left_to_nova(instance: Instance, facts: Facts) -> Reason | None:
    """Why nova-compute, and not a plan, removes the domain of a deleted instance; or None.

    SAFETY: nova-compute finds such an instance by its domain, and then also disconnects its volumes
    and deletes its disks. Without the domain it never does. It does not see rows that are archived,
    or that somebody deleted by hand (`_cleanup_running_deleted_instances`). It looks at its start:
    where it is up and the domain is still there, it will not remove the domain.
    """
    ours = {domain.host for domain in facts.domains_of.get(instance.uuid, ()) if domain.ours}
    hosts = sorted(host for host in ours if not _nova_compute_is_up(host, instance, facts))
    rows = facts.record(instance.uuid).rows
    if not hosts or all(row.archived or row.deleted_by_hand for row in rows):
        return None
    return because("domain-left-to-nova", hosts=tuple(hosts))


def _nova_compute_is_up(host: str, instance: Instance, facts: Facts) -> bool:
    service = facts.service_of(instance.cell, host)
    return service is not None and service.is_up(facts.taken_at)


def unseen(instance: Instance, facts: Facts) -> Reason | None:
    """Why a hypervisor may still run the guest of a deleted instance; or None.

    If Trueup asks hypervisors, those of its last hosts and of the hosts that it holds must have
    answered. If it asks none, Nova's deleted row is the proof.
    """
    silent = sorted(_hosts_of(instance, facts) - facts.hypervisors_that_answered)
    if not silent or not facts.domains_read:
        return None
    return because("hypervisor-silent", hosts=tuple(silent))


def no_domains(instance: Instance, facts: Facts) -> Iterator[Guard]:
    """Guards: the hypervisors that had no domain of a deleted instance still have none."""
    there = {domain.host for domain in facts.domains_of.get(instance.uuid, ())}
    asked = _hosts_of(instance, facts) & facts.hypervisors_that_answered
    for host in sorted(asked - there):
        yield DomainIs(host, instance.uuid, None)


def _hosts_of(instance: Instance, facts: Facts) -> frozenset[str]:
    """The last hosts of an instance, by its rows, and the hosts that it holds."""
    record = facts.record(instance.uuid)
    claims = (record.own, *record.moves.values())
    roots = frozenset[str]().union(*(facts.roots_of(held) for held in claims))
    nodes = (node for root in roots for node in facts.nodes_by_uuid.get(root, ()))
    rows = (row.host for row in record.rows)
    return frozenset(host for host in (*rows, *(node.host for node in nodes)) if host)


def _obstacle(
    domain: Domain, record: DomainRecord | None, discards: Collection[Discard]
) -> Reason | None:
    """Why the definition of a domain cannot be removed; or None."""
    if domain.active and "guest" not in discards:
        return because("guest-runs", state=domain.state, host=domain.host, domain=domain.uuid)
    if record is None:
        return because("definition-not-read")
    if record.managed_save and "managed-save" not in discards:
        return because("guest-memory-saved", host=domain.host)
    if record.snapshots:
        return because(
            "domain-has-snapshots", snapshots=record.snapshots, host=domain.host, domain=domain.name
        )
    return None


def _lost(domain: Domain, record: DomainRecord) -> frozenset[Discard]:
    """What would be lost with this definition."""
    found: set[Discard] = {"guest"} if domain.active else set()
    found |= {"nvram"} if record.nvram else set()
    return frozenset(found | ({"managed-save"} if record.managed_save else set()))


def _guards(domain: Domain, instance: Instance, facts: Facts) -> tuple[Guard, ...]:
    """Guards: the instance is still deleted, its cell is not behind, and its guest is as it was.

    A guest that the step stops may have stopped by itself since, so its state is no guard.
    """
    state = instance_state(instance, moving=instance.uuid in facts.moving)
    still = () if domain.active else (DomainIs(domain.host, domain.uuid, domain.state),)
    return (state, *fresh(instance.cell, facts), *still)
