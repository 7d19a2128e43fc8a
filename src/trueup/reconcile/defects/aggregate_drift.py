# SPDX-License-Identifier: Apache-2.0
"""Aggregate drift: a host and its provider are not in the same aggregates of Nova.

Launchpad 1877229, 1804125, 1804453: requests for an availability zone or for a tenant's hosts find
nothing, or the wrong hosts. Aggregates that Nova does not have are not compared: they belong to
other services.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from trueup.reconcile.facts import ComputeNode, Facts, Provider, grouped, is_uuid
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import on_host
from trueup.reconcile.rules.bare_metal import IRONIC
from trueup.reconcile.rules.nodes import (
    judged_hosts,
    newly_made,
    node_evidence,
    of_another_cell,
    provider_evidence,
    service_of,
)
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    AggregatesOfHost,
    Change,
    NotShared,
    Step,
    step_of,
)
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    LeftAlone,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Verdict,
)

NAME = "aggregate-drift"
TITLE = "A provider is in other aggregates than its host"
REMEDY = "Put the provider into the aggregates of its host, and take it out of Nova's others"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION


@dataclass(frozen=True, slots=True)
class _Difference:
    """Nova's aggregates, by uuid: where the provider is missing, and where it should not be."""

    missing: frozenset[str]
    extra: frozenset[str]


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Hosts whose aggregates of Nova differ from those of their provider."""
    names = {aggregate.uuid: aggregate.name for aggregate in facts.host_aggregates}
    of_nova = frozenset(names)
    of_hosts = facts.aggregates_of_hosts
    shared = facts.sharing_aggregates
    for node, provider in judged_hosts(facts):
        found = _difference(of_hosts.get(node.host, frozenset()), provider, of_nova)
        if found is None or node.hypervisor == IRONIC:
            continue
        subject = Subject("provider", provider.uuid)
        if reason := newly_made(node, facts, options):
            yield LeftAlone(subject, node.host, reason)
        elif reason := of_another_cell(node, facts):
            yield Unchecked(subject, node.host, reason)
        elif found.extra & shared:
            yield LeftAlone(subject, node.host, because("sharing-would-be-lost"))
        elif reason := (
            _no_members(found.extra, facts)
            or _in_other_letters(node.host, found.extra, facts)
            or _not_written_by_placement(provider)
        ):
            yield Unchecked(subject, node.host, reason)
        elif found.extra and service_of(node, facts) is None:
            # SAFETY: aggregates name their hosts, so a wrong name would empty them in Placement.
            cell = facts.cells[node.cell]
            reason = because(
                "node-without-service" if node.host else "node-without-host",
                host=node.host,
                cell=cell,
            )
            yield Unchecked(subject, node.host, reason)
        elif reason := _not_mapped(node, found.extra, facts):
            yield Unchecked(subject, node.host, reason)
        else:
            yield _finding(node, provider, found, names, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """Replace the provider's aggregates: the missing ones are added, the wrong ones removed."""
    [node] = facts.nodes_by_uuid[finding.subject.uuid]
    provider = facts.providers[finding.subject.uuid]
    wanted = facts.aggregates_of_hosts.get(node.host, frozenset())
    of_nova = frozenset(aggregate.uuid for aggregate in facts.host_aggregates)
    if provider.aggregates is None:
        return because("aggregates-not-read")
    found = _difference(wanted, provider, of_nova)
    if found is None:
        return because("aggregates-right-now")
    after = provider.aggregates - found.extra | found.missing
    change = Change(
        AggregatesOf(provider.uuid),
        Aggregates(tuple(sorted(provider.aggregates))),
        Aggregates(tuple(sorted(after))),
        {provider.uuid: provider.generation},
    )
    guards = (*on_host(node, facts), AggregatesOfHost(node.host, tuple(sorted(wanted))))
    # SAFETY: a host that is removed from an aggregate loses what a pool shares through it.
    alone = (NotShared(tuple(sorted(found.extra))),) if found.extra else ()
    return (step_of((change,), (*guards, *alone), (finding.id,)),)


def _no_members(extra: frozenset[str], facts: Facts) -> Reason | None:
    """Why Nova's members of these aggregates prove nothing; or None.

    SAFETY: Placement has what Nova wrote when a host joined. An empty table, as after a restore,
    would remove each host from all its aggregates.
    """
    if not extra or facts.aggregates_of_hosts:
        return None
    return because("members-lost")


def _not_mapped(node: ComputeNode, extra: frozenset[str], facts: Facts) -> Reason | None:
    """Why Nova's members of these aggregates prove nothing about a host; or None.

    SAFETY: Nova lets no host join without a host mapping, and Placement has what Nova wrote when it
    joined. So a database that was put back may have lost both.
    """
    if not extra or not facts.has(Need.HOST_MAPPINGS) or node.host in facts.host_mapping:
        return None
    return because("host-not-mapped", host=node.host)


def _in_other_letters(host: str, aggregates: frozenset[str], facts: Facts) -> Reason | None:
    """Why a host may be in one of these aggregates, though none of them has its name; or None.

    SAFETY: MySQL ignores the case of letters, and PostgreSQL does not. So it depends on Nova's
    database whether Nova has this host there.
    """
    for uuid, aggregate, written in facts.once(_hosts_by_letters).get(host.casefold(), ()):
        if uuid in aggregates:
            return because("host-in-other-letters", aggregate=aggregate, written=written)
    return None


def _not_written_by_placement(provider: Provider) -> Reason | None:
    """Which aggregate of a provider no request can have written; or None.

    Placement refuses every list that names it, or finds no provider by its canonical form.
    """
    wrong = sorted(uuid for uuid in provider.aggregates or () if not is_uuid(uuid))
    return because("aggregate-uuid-invalid", aggregate=wrong[0]) if wrong else None


def _hosts_by_letters(facts: Facts) -> dict[str, tuple[tuple[str, str, str], ...]]:
    """By a host's casefolded name: the aggregates that have it, with the name as written there."""
    return grouped(
        (host.casefold(), (aggregate.uuid, aggregate.name, host))
        for aggregate in facts.host_aggregates
        for host in aggregate.hosts
    )


def _difference(
    wanted: frozenset[str], provider: Provider, of_nova: frozenset[str]
) -> _Difference | None:
    """The difference; None if there is none, or if the provider's aggregates were not read."""
    if provider.aggregates is None:
        return None
    found = _Difference(wanted - provider.aggregates, (provider.aggregates & of_nova) - wanted)
    return found if found.missing or found.extra else None


def _finding(
    node: ComputeNode, provider: Provider, found: _Difference, names: dict[str, str], facts: Facts
) -> Finding:
    return Finding(
        NAME,
        Subject("provider", provider.uuid),
        node.host,
        Severity.HIGH,
        {
            "provider": provider_evidence(provider),
            "compute_node": node_evidence(node, facts),
            "not_in": _rows(found.missing, names),
            "wrongly_in": _rows(found.extra, names),
        },
    )


def _rows(uuids: frozenset[str], names: dict[str, str]) -> tuple[Structure, ...]:
    return tuple({"name": names[uuid], "uuid": uuid} for uuid in sorted(uuids))
