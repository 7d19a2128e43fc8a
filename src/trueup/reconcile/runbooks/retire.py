# SPDX-License-Identifier: Apache-2.0
"""Retire: delete a compute service, its providers and their remaining allocations. Pure.

Launchpad 1829479: when Nova deletes a compute service, it swallows the error of deleting a provider
that still has allocations, and leaves the provider behind.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from msgspec import structs

from trueup.reconcile.audit import Observation
from trueup.reconcile.facts import ComputeNode, ComputeService, Facts, Provider
from trueup.reconcile.plan import Plan
from trueup.reconcile.remedies.guarded_steps import deletions, foreign_child, fresh
from trueup.reconcile.runbooks import retire_checks
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runbooks.releases import Releases, releases_of
from trueup.reconcile.runbooks.retire_checks import Retired
from trueup.reconcile.steps import (
    AgentsDown,
    Change,
    Guard,
    HostEmpty,
    NodeGone,
    ProviderContents,
    ServiceDown,
    ServiceFields,
    ServiceRecord,
    Step,
    WholeProvider,
    digest,
    step_of,
)

NAME = "retire"


def retired(host: str, facts: Facts) -> Retired:
    """The parts of a host to delete: its service, its compute nodes and their providers."""
    nodes = tuple(row for row in facts.compute_nodes if row.host == host)
    former = tuple(row for row in facts.deleted_compute_nodes if row.host == host)
    living = {row.uuid for row in facts.compute_nodes}
    uuids = [row.uuid for row in nodes] + [row.uuid for row in former if row.uuid not in living]
    return Retired(
        host=host,
        services=tuple(row for row in facts.services if row.host == host),
        nodes=nodes,
        former=former,
        roots=tuple(
            facts.providers[uuid] for uuid in dict.fromkeys(uuids) if uuid in facts.providers
        ),
    )


def prepared(host: str, plan: Plan, second: Observation, reading: HostReading) -> Prepared:
    """The preflight, and the plan that retires the host; `plan` remedies the findings there."""
    facts = second.facts
    place = retired(host, facts)
    providers = {row.uuid for root in place.roots for row in facts.trees.get(root.uuid, ())}
    holders = sorted(
        {consumer for uuid in providers for consumer in facts.consumers_of.get(uuid, ())}
    )
    releases = releases_of(plan, holders, providers)
    checks = retire_checks.checks(place, second, reading, holders, releases, plan)
    ready = Prepared(f"{NAME}:{host}", checks, plan)
    steps = () if ready.blocked else tuple(_steps(place, facts, reading, releases))
    kept = {reason for step in steps for reason in step.because}
    numbered = {step.id for step in steps}
    return replace(
        ready,
        plan=replace(
            plan,
            steps=steps,
            findings=tuple(finding for finding in plan.findings if finding.id in kept),
            effects=tuple(effect for effect in plan.effects if effect.step in numbered),
            declined=(),
            names={
                **plan.names,
                **{uuid: name for uuid, name in facts.provider_names.items() if uuid in providers},
            },
        ),
    )


@dataclass(frozen=True, slots=True)
class _Writing:
    """The common parts of the steps of a retirement."""

    because: tuple[str, ...]
    guards: tuple[Guard, ...]


def _steps(
    place: Retired, facts: Facts, reading: HostReading, releases: Releases
) -> Iterator[Step]:
    """Releases first, then the trees leaves first, then the service with the roots."""
    yield from releases.steps
    nodes = (*place.nodes, *place.former)
    cells = sorted({row.cell for row in place.services} | {row.cell for row in nodes})
    every: list[Guard] = [HostEmpty(place.host)]
    every += [ServiceDown(row.cell, row.host) for row in place.services]
    every += [guard for cell in cells for guard in fresh(cell, facts)]
    # SAFETY: an agent that runs again reports its providers again, below a deleted root.
    if reading.agents is not None and any(foreign_child(root, facts) for root in place.roots):
        every.append(AgentsDown(place.host))
    writing = _Writing((f"{NAME}:{place.host}",), tuple(every))
    children, roots = _deletions(place, facts, reading, writing)
    freed = tuple(step.id for step in releases.steps)
    if not place.services:
        yield from (_after(step, freed) for step in (*children, *roots))
        return
    yield from (_after(step, freed) for step in children)
    made = tuple(_made(node, facts, writing) for node in place.without_provider(facts))
    yield from made
    earlier = (*freed, *(step.id for step in (*children, *made)))
    [service] = place.services
    with_it = [_of_service(root.uuid, reading.contents[root.uuid]) for root in place.roots]
    again = [_of_service(node.uuid, _bare(node)) for node in place.without_provider(facts)]
    changes = (_service_deletion(service), *with_it, *again)
    yield step_of(changes, writing.guards, writing.because, earlier)


def _after(step: Step, earlier: Iterable[str]) -> Step:
    """The same step, which also needs these earlier steps."""
    return step_of(step.changes, step.guards, step.because, (*step.needs, *earlier))


def _deletions(
    place: Retired, facts: Facts, reading: HostReading, writing: _Writing
) -> tuple[list[Step], list[Step]]:
    """The steps that delete the providers below the roots, and the steps that delete the roots."""
    children: list[Step] = []
    roots: list[Step] = []
    for root in place.roots:
        gone = () if place.services else tuple(_gone(root, place))
        guards = (*writing.guards, *gone)
        tree = facts.trees[root.uuid]
        *below, last = deletions(root, tree, reading.contents, writing.because, guards)
        children += below
        roots.append(last)
    return children, roots


def _gone(root: Provider, place: Retired) -> Iterator[Guard]:
    """Guard: the compute node of a provider is still deleted, as its service is."""
    for node in place.former:
        if node.uuid == root.uuid:
            yield NodeGone(node.uuid, node.node, node.cell, node.host)


def _service_deletion(service: ComputeService) -> Change:
    fields = ServiceFields(service.disabled, service.disabled_reason, service.forced_down)
    target = ServiceRecord(service.cell, service.host)
    return Change(target, fields, None, {service.host: digest(fields)})


def _of_service(provider: str, contents: ProviderContents) -> Change:
    """The deletion of a provider that Nova deletes with its service or leaves behind."""
    known = structs.replace(contents, aggregates=())
    target = WholeProvider(provider, aggregates=False)
    return Change(target, known, None, {provider: known.digest})


def _made(node: ComputeNode, facts: Facts, writing: _Writing) -> Step:
    """The step that makes the provider of a compute node without one.

    PARITY: Nova answers 500 to deleting a service with a compute node that has no provider, after
    it has taken the host out of its aggregates (nova-facts, 5).
    """
    change = Change(WholeProvider(node.uuid), None, _bare(node), {node.uuid: None})
    return step_of((change,), writing.guards, writing.because)


def _bare(node: ComputeNode) -> ProviderContents:
    return ProviderContents(node.node, None, {}, (), ())
