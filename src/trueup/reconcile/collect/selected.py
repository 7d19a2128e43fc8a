# SPDX-License-Identifier: Apache-2.0
"""Collects a selection: finds the candidates, then asks every source about them by uuid.

Candidates come from Nova (on a host, of a project, in a cell) and from Placement (consumers with
allocations there). SAFETY: every cell is asked about all candidates, also cells that are not
selected, and all their allocations are read, so that nothing is judged by half of its facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial as bound

from trueup.reconcile.clock import now
from trueup.reconcile.collect.cached_ports import read_other_holders, with_unlisted_ports
from trueup.reconcile.collect.coverage import (
    Cells,
    Collected,
    HypervisorReplies,
    Progress,
    facts_of,
    ports_of,
)
from trueup.reconcile.collect.scope import (
    holds_nothing,
    hosts_left,
    hosts_of,
    hosts_of_moves,
    nodes_of,
    with_partners,
)
from trueup.reconcile.collect.selection import (
    Selection,
    SelectionUnknown,
    cells_selected,
    chosen,
    hosts_selected,
    is_empty,
    nodes_selected,
    providers_selected,
    unknown,
    with_spellings,
)
from trueup.reconcile.collect.trees import whole_trees
from trueup.reconcile.facts import Amounts, ComputeNode, Coverage, Facts, Provider, Unsupported
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.nova.contract import InstanceFilter, InstanceIds
from trueup.reconcile.sources.placement.api import API
from trueup.reconcile.sources.placement.contract import LedgerLookup

# How many requests one tree takes over the API: providers, inventories, consumers and usages.
_REQUESTS_FOR_TREE = 6
_NOT_OF_PROJECTS = Unsupported(
    "consumers of the project that are not instances",
    "only Nova knows the project, and only of instances",
)


@dataclass(slots=True)
class _Known:
    """The results so far; `found` are the instances that Nova returned."""

    found: InstanceIds = field(default_factory=InstanceIds)
    providers: dict[str, Provider] = field(default_factory=dict)
    consumers: dict[str, Amounts] = field(default_factory=dict)


def collect_selected(cloud: Cloud, progress: Progress, selection: Selection) -> Facts:
    """Facts about the selection. Raises as `collect`."""
    taken_at = now()
    cells = Cells(cloud, cloud.nova.cells())
    cells_selected(cells.names, selection)
    cells.ask(cloud.nova.hosts)
    progress("cells", len(cells.every), len(cells.every))
    known = _Known()
    selection = with_spellings(selection, _partial_facts(cells, known))
    ledger = _find(cloud, cells, selection, known, progress)
    hypervisors = HypervisorReplies(cloud)
    hypervisors.ask(nodes_selected(_partial_facts(cells, known), selection))
    candidates = _candidates(cells, selection, known, ledger, hypervisors.guests_of_nova)
    known.consumers = ledger.held(candidates)
    named = _asked_of_nova(selection, known) | (hypervisors.guests_of_nova & candidates)
    cells.ask(lambda cell: cloud.nova.instances(cell, named))
    _read_moves_of_deleted(cloud, cells, known)
    named |= _read_partners(cloud, cells, ledger, known)
    progress("instances", len(named), len(named))
    registry = cloud.nova.registry(cells.every, named)
    partial = _partial_facts(cells, known)
    candidates = with_partners(partial, candidates)
    nodes = _nodes_near(partial, selection, candidates)
    providers = ledger.completed(_trees(ledger, known, nodes))
    progress("providers", len(providers), len(providers))
    ports, of_neutron = ports_of(cloud, progress, candidates & partial.alive.keys())
    with_unlisted_ports(cloud, cells, known.consumers, ports, of_neutron)
    read_other_holders(cloud, cells, known.consumers, ports)
    left = hosts_left(replace(partial, providers=providers), candidates)
    hypervisors.ask((*nodes, *nodes_of(partial, selection.hypervisors | left)))
    # If consumers are selected, no provider is judged.
    of_places = not selection.uuids | selection.projects
    consumers = _of_providers(known.consumers, providers)
    looked = of_places or _faults_matter(ledger, replace(partial, consumers=consumers), candidates)
    collected = Collected(
        taken_at=taken_at,
        cells=cells,
        registry=registry,
        providers=providers,
        consumers=consumers,
        owners=ledger.owners(consumers),
        read_via=ledger.read_via,
        ledger_faults=ledger.faults(providers) if looked else (),
        ledger_writes=ledger.written(providers),
        ports=ports,
        domains=hypervisors.domains,
        hypervisors_asked=hypervisors.asked,
        optional=(*of_neutron, *hypervisors.statuses()),
        unsupported=(_NOT_OF_PROJECTS,) if selection.projects else (),
    )
    return _chosen(facts_of(cloud, collected), cloud, cells, selection)


def _chosen(facts: Facts, cloud: Cloud, cells: Cells, selection: Selection) -> Facts:
    """As `chosen`. A name that nothing has is compared with all names that Nova maps.

    PERF: only then are all mappings read.
    """
    try:
        found = chosen(facts, selection)
    except SelectionUnknown as refused:
        if refused.kind != "instance":
            raise
        mapped = cloud.nova.registry(cells.every).instance_mappings
        raise unknown(refused.kind, refused.name, (row.instance for row in mapped)) from None
    if selection.projects and not selection.may_be_gone and is_empty(found, selection):
        mapped = cloud.nova.registry(cells.every).instance_mappings
        projects = {row.project for row in mapped}
        for name in sorted(selection.projects - projects):
            error = unknown("project", name, projects)
            if error.near:
                raise error
    return found


def _faults_matter(ledger: LedgerLookup, partial: Facts, candidates: frozenset[str]) -> bool:
    """Whether allocations that Placement does not list may belong to a candidate.

    PERF: over the API they take requests for each provider, and do not show their consumers.
    """
    return ledger.read_via != API or holds_nothing(partial, candidates)


def _find(
    cloud: Cloud, cells: Cells, selection: Selection, known: _Known, progress: Progress
) -> LedgerLookup:
    """Find the providers and instances that are named; choose how the ledger is read."""

    def counted(done: int, total: int) -> None:
        progress("providers", done, total)

    if selection.providers:
        few = cloud.placement.lookup(0, 0, counted)
        known.providers = few.trees(selection.providers, selection.providers)
    partial = _partial_facts(cells, known)
    nodes, hosts = nodes_selected(partial, selection), hosts_selected(partial, selection)
    places = InstanceFilter(hosts, nodes=frozenset(row.node for row in nodes))
    known.found = _found(cloud, cells, selection, places)
    people = len(selection.uuids) or len(known.found.living) + len(known.found.deleted)
    requests = people + _REQUESTS_FOR_TREE * len(nodes)
    ledger = cloud.placement.lookup(requests, len(partial.compute_nodes), counted)
    called = {row.node for row in nodes} | selection.hosts
    known.providers |= ledger.trees({row.uuid for row in nodes}, called)
    return ledger


def _found(cloud: Cloud, cells: Cells, selection: Selection, places: InstanceFilter) -> InstanceIds:
    """The instances in Nova that may be selected, at these places; none if uuids were given."""
    if selection.uuids:
        return InstanceIds()
    projects = selection.projects or None
    if selection.hosts | selection.providers:
        wanted = replace(places, projects=projects)
    else:
        wanted = InstanceFilter(projects=projects, deleted=bool(projects))
    within = None if wanted != InstanceFilter() else cells_selected(cells.names, selection)
    replies = cells.ask(
        lambda cell: (
            cloud.nova.instance_ids(cell, wanted)
            if within is None or cell.uuid in within
            else InstanceIds()
        )
    )
    return InstanceIds(
        frozenset().union(*(reply.living for reply in replies.values())),
        frozenset().union(*(reply.deleted for reply in replies.values())),
    )


def _candidates(
    cells: Cells,
    selection: Selection,
    known: _Known,
    ledger: LedgerLookup,
    guests: frozenset[str],
) -> frozenset[str]:
    """All consumers that may be selected; `guests` are Nova's domains on selected hosts."""
    if selection.uuids:
        return selection.uuids
    found = known.found.living | known.found.deleted
    partial = _partial_facts(cells, known)
    if selection.hosts | selection.providers:
        return found | guests | ledger.holders(providers_selected(partial, selection))
    if selection.projects:
        return found
    return found | guests | ledger.holders(known.providers)


def _asked_of_nova(selection: Selection, known: _Known) -> frozenset[str]:
    """The uuids to ask Nova for. Deleted instances are many: only those with allocations."""
    return selection.uuids | known.consumers.keys() | known.found.living


def _read_moves_of_deleted(cloud: Cloud, cells: Cells, known: _Known) -> None:
    """Also read the migrations of deleted instances that have no allocations of their own.

    SAFETY: such a migration may still have allocations that the instance left behind.
    """
    if moved := known.found.deleted:
        cells.ask(lambda cell: cloud.nova.lookup(cell, (), moves_of=moved))


def _read_partners(
    cloud: Cloud, cells: Cells, ledger: LedgerLookup, known: _Known
) -> frozenset[str]:
    """Also read the allocations of the migrations of known instances, and the instances of
    migrations that have allocations. Returns these instances.
    """
    asked: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()
    while True:
        facts = _partial_facts(cells, known)
        moves = frozenset(row.uuid for row in facts.migrations) - known.consumers.keys() - seen
        known.consumers |= ledger.held(moves)
        seen |= moves
        holding = {row.instance for row in facts.migrations if row.uuid in known.consumers}
        instances = frozenset(holding) - facts.instance_rows.keys() - asked
        if not instances:
            return asked
        known.consumers |= ledger.held(instances - known.consumers.keys())
        cells.ask(bound(cloud.nova.instances, uuids=instances))
        asked |= instances


def _nodes_near(
    partial: Facts, selection: Selection, candidates: frozenset[str]
) -> tuple[ComputeNode, ...]:
    """The compute nodes that are needed to judge these candidates."""
    hosts = hosts_selected(partial, selection) | hosts_of(partial, candidates)
    near = nodes_of(partial, hosts | hosts_of_moves(partial, candidates))
    return (*near, *nodes_selected(partial, selection))


def _trees(
    ledger: LedgerLookup, known: _Known, nodes: Iterable[ComputeNode]
) -> Mapping[str, Provider]:
    """The trees of these nodes, and all trees in which candidates have allocations."""
    rows = tuple(nodes)
    trees = dict(known.providers)
    seen = {row.name for row in trees.values()}
    uuids = {row.uuid for row in rows} - trees.keys()
    trees |= ledger.trees(uuids, {row.node for row in rows} - seen)
    held = {uuid for amounts in known.consumers.values() for uuid in amounts}
    return whole_trees(ledger, trees | ledger.trees(held - trees.keys(), ()))


def _of_providers(
    consumers: Mapping[str, Amounts], providers: Mapping[str, Provider]
) -> dict[str, Amounts]:
    """The allocations on listed providers. Placement does not list providers without a root."""
    listed = {
        uuid: {provider: amounts for provider, amounts in held.items() if provider in providers}
        for uuid, held in consumers.items()
    }
    return {uuid: held for uuid, held in listed.items() if held}


def _partial_facts(cells: Cells, known: _Known) -> Facts:
    """The facts read so far, for the rules that decide what else to read."""
    contents = cells.contents
    return Facts(
        taken_at=now(),
        coverage=Coverage(()),
        cells=cells.names,
        providers=known.providers,
        consumers=known.consumers,
        instances=tuple(row for reply in contents for row in reply.instances),
        migrations=tuple(row for reply in contents for row in reply.migrations),
        compute_nodes=tuple(
            row for reply in contents for row in reply.compute_nodes if not row.deleted
        ),
    )
