# SPDX-License-Identifier: Apache-2.0
"""Ghosts: what Nova says, what each hypervisor has, and what Placement counts. Pure.

An instance that is deleted in Nova's database but still defined on a host is removed from the
hypervisor first, and then from the ledger (see `domain_removal`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from trueup.reconcile.audit import Observation
from trueup.reconcile.defects import ghost_domain, orphaned_allocation
from trueup.reconcile.facts import Amounts, Facts, Instance, grouped
from trueup.reconcile.plan import Plan, Remedy, undefined_by
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.domain_removal import domain_removals, no_domains, unseen
from trueup.reconcile.remedies.guarded_steps import guarded_step
from trueup.reconcile.steps import Discard, DomainIs, Guard, Step
from trueup.reconcile.verdicts import Finding


@dataclass(eq=False)
class NoGhost(Exception):
    """The operator named a domain that is no ghost; `deleted`: its instance is deleted."""

    domain: str
    verdicts: tuple[str | Reason, ...]
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class GhostChoice:
    """What the operator chose: hosts (empty: all), domains whose guest may be stopped, and what may
    be lost with a definition."""

    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    discards: frozenset[Discard] = frozenset()


@dataclass(frozen=True, slots=True)
class Comparison:
    """One instance in the three views. `instance` is None if no cell knows it.

    `guests` has the state of its domain on each host; None if the hypervisor answered and has no
    domain. `on_nova`, `on_hypervisors` and `on_ledger` are the hosts in each view; `on_hypervisors`
    is None if Nova's host was not asked or did not answer.
    """

    uuid: str
    instance: Instance | None
    guests: Mapping[str, str | None]
    held: Amounts
    on_nova: frozenset[str]
    on_hypervisors: frozenset[str] | None
    on_ledger: frozenset[str]
    verdicts: tuple[str | Reason, ...]

    @property
    def agree(self) -> bool:
        """Whether all views that answered name the same hosts."""
        seen = self.on_nova if self.on_hypervisors is None else self.on_hypervisors
        return self.on_nova == seen == self.on_ledger

    @property
    def hosts(self) -> frozenset[str]:
        """Every host in one of the three views."""
        return self.on_nova | (self.on_hypervisors or frozenset()) | self.on_ledger


def compared(observed: Observation, chosen: GhostChoice) -> Iterator[Comparison]:
    """Every instance on a host in any view, or on one of the chosen hosts, by uuid."""
    facts = observed.facts
    verdicts = _verdicts(observed)
    moves = {row.uuid for row in facts.migrations}
    domains = {row.uuid for row in facts.domains if row.ours}
    known = facts.alive.keys() | domains | facts.consumers.keys()
    for uuid in sorted(known - moves):
        row = _comparison(uuid, facts, verdicts.get(uuid, ()))
        if row.hosts and (not chosen.hosts or row.hosts & chosen.hosts):
            yield row


def remedy(chosen: GhostChoice) -> Remedy:
    """The remedy of ghosts on the chosen hosts: it removes their domains and allocations."""

    def remedy_of(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason | None:
        if finding.defect not in (ghost_domain.NAME, orphaned_allocation.NAME):
            return None
        row = _comparison(finding.subject.uuid, facts, ())
        if chosen.hosts and not row.hosts & chosen.hosts:
            return None
        if finding.defect == orphaned_allocation.NAME:
            return orphaned_allocation.release(finding, facts)
        return _without_domain(finding, facts, chosen)

    return remedy_of


def removes_definitions(plan: Plan) -> bool:
    """Whether a plan removes the definition of any domain."""
    return any(True for step in plan.steps for _ in undefined_by(step))


def refuse_strangers(observed: Observation, chosen: GhostChoice, removed: frozenset[str]) -> None:
    """Raise NoGhost for a named domain that is no ghost and was not `removed` before."""
    ghosts = {
        row.subject.uuid for row in observed.audit.findings if row.defect == ghost_domain.NAME
    }
    verdicts = _verdicts(observed)
    for uuid in sorted(chosen.domains - ghosts - removed):
        raise NoGhost(uuid, verdicts.get(uuid, ()), uuid in observed.facts.deleted)


def _without_domain(
    finding: Finding, facts: Facts, chosen: GhostChoice
) -> tuple[Step, ...] | Reason:
    """Remove the definitions, then release allocations of an instance whose guest is stopped."""
    instance = facts.deleted[finding.subject.uuid]
    named = instance.uuid in chosen.domains
    discards: set[Discard] = {*chosen.discards}
    if named:
        discards.add("guest")
    steps = domain_removals(finding, instance, facts, discards)
    if isinstance(steps, Reason) or not any(
        domain.active for domain in facts.domains_of[instance.uuid]
    ):
        # If the guest does not run, orphaned-allocation has the remedy for the release.
        return steps
    holding = facts.holdings[instance.uuid]
    if holding.allocations is None:
        return steps
    if reason := unseen(instance, facts):
        return reason
    gone: list[Guard] = [
        DomainIs(domain.host, domain.uuid, None) for domain in facts.domains_of[instance.uuid]
    ]
    gone += no_domains(instance, facts)
    release = guarded_step({instance.uuid: None}, facts, finding, instance, gone)
    return release if isinstance(release, Reason) else (*steps, *release)


def _comparison(uuid: str, facts: Facts, verdicts: tuple[str | Reason, ...]) -> Comparison:
    instance = facts.alive.get(uuid) or facts.deleted.get(uuid)
    ours = (row for row in facts.domains_of.get(uuid, ()) if row.ours)
    guests: dict[str, str | None] = {row.host: row.state for row in ours}
    on_nova = _hosts_of(instance)
    asked = on_nova <= facts.hypervisors_that_answered
    seen = frozenset(guests)
    for host in on_nova & facts.hypervisors_that_answered:
        guests.setdefault(host, None)
    held = facts.consumers.get(uuid, {})
    return Comparison(
        uuid=uuid,
        instance=instance,
        guests=guests,
        held=held,
        on_nova=on_nova,
        on_hypervisors=seen if asked or seen else None,
        on_ledger=frozenset(_host_of_root(root, facts) for root in facts.roots_of(held)),
        verdicts=verdicts,
    )


def _hosts_of(instance: Instance | None) -> frozenset[str]:
    if instance is None or instance.deleted or instance.host is None:
        return frozenset()
    return frozenset({instance.host})


def _host_of_root(root: str, facts: Facts) -> str:
    """The host of a root provider; its own name if no cell has its compute node."""
    nodes = facts.nodes_by_uuid.get(root, ())
    return nodes[0].host if nodes else facts.provider_names.get(root, root)


def _verdicts(observed: Observation) -> dict[str, tuple[str | Reason, ...]]:
    """The verdicts of the audit about each subject, by uuid."""
    result = observed.audit
    rows: list[tuple[str, str | Reason]] = [
        *((row.subject.uuid, row.defect) for row in result.findings),
        *((row.subject.uuid, because("not-checked", row.reason)) for row in result.unchecked),
        *((row.subject.uuid, because("left-alone", row.reason)) for row in result.left_alone),
    ]
    return grouped(rows)
