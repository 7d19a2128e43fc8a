# SPDX-License-Identifier: Apache-2.0
"""Selection: the instances, hosts, providers, cells and projects that a command looks at.

Among several names of one kind, one has to match; if several kinds are given, each has to match.
A selection never changes a verdict: every cell is asked about the instances that are selected.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from trueup.reconcile.collect.scope import (
    alike,
    holds_nothing,
    hosts_left,
    hosts_of,
    hosts_of_moves,
    may_be_on,
    nodes_of,
    roots_connected,
    roots_of_held,
    roots_of_nodes,
    spellings,
    with_partners,
)
from trueup.reconcile.expected.ports import holder_of_port
from trueup.reconcile.facts import (
    Amounts,
    ComputeNode,
    Facts,
    Instance,
    LedgerFault,
    as_compared,
    within_trees,
)
from trueup.reconcile.reasons import Reason

NOBODY: frozenset[str] = frozenset()


@dataclass(eq=False)
class SelectionUnknown(Exception):
    """No source that answered knows what was selected; `kind` is `host`, `instance` and so on.

    `near` are existing names that differ by a few letters.
    """

    kind: str
    name: str
    near: tuple[str, ...] = ()


@dataclass(eq=False)
class SelectionUnread(Exception):
    """No source that answered knows what was selected, and one that did not may; `gap` says so."""

    kind: str
    name: str
    gap: Reason


@dataclass(eq=False)
class SelectionEmpty(Exception):
    """Every name is known, or is a project, but nothing matches all of them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Names as the operator gave them: cells and providers by name or uuid, hosts by name.

    `may_be_gone`: the names were known before, so a name that no source knows now is no error.
    """

    instances: frozenset[str] = NOBODY
    hosts: frozenset[str] = NOBODY
    providers: frozenset[str] = NOBODY
    cells: frozenset[str] = NOBODY
    projects: frozenset[str] = NOBODY
    consumers: frozenset[str] = NOBODY
    # Hosts whose hypervisors are asked too: domains of selected instances were seen there.
    hypervisors: frozenset[str] = NOBODY
    may_be_gone: bool = False

    @property
    def uuids(self) -> frozenset[str]:
        """The consumers that are named; an instance is a consumer."""
        return self.instances | self.consumers

    @property
    def narrows(self) -> bool:
        places = self.hosts | self.providers | self.cells
        return bool(self.uuids | places | self.projects)


EVERYTHING = Selection()


def cells_selected(cells: Mapping[str, str], selection: Selection) -> frozenset[str]:
    """The uuids of the selected cells; `cells` has names by uuid. Raises SelectionUnknown."""
    if not selection.cells:
        return frozenset(cells)
    for name in sorted(selection.cells - cells.keys() - frozenset(cells.values())):
        raise unknown("cell", name, cells.values())
    return frozenset(u for u, name in cells.items() if {u, name} & selection.cells)


def unknown(kind: str, name: str, there: Iterable[str]) -> SelectionUnknown:
    """The error for a name that is not one of `there`."""
    return SelectionUnknown(kind, name, tuple(get_close_matches(name, sorted({*there}))))


def not_found(
    kind: str, name: str, there: Iterable[str], facts: Facts
) -> SelectionUnknown | SelectionUnread:
    """The error for a name that is not one of `there`, as far as these facts go."""
    if gap := facts.coverage.gap:
        return SelectionUnread(kind, name, gap)
    return unknown(kind, name, there)


def with_spellings(selection: Selection, facts: Facts) -> Selection:
    """The same selection, with each host also as its compute node spells it."""
    known = spellings(facts.compute_nodes)
    spelled = {known.get(as_compared(host), host) for host in selection.hosts}
    return replace(selection, hosts=selection.hosts | spelled)


def is_empty(facts: Facts, selection: Selection) -> bool:
    """Whether nothing is selected. While a source is silent, its rows may be selected."""
    selected = facts.instances or facts.consumers or facts.providers_in_scope
    return selection.narrows and not selected and facts.coverage.complete


def refuse_empty(facts: Facts, selection: Selection) -> None:
    """Raise SelectionEmpty if nothing is selected: an audit of nothing would look clean.

    Only Keystone knows whether a project exists, and several selectors may have nothing in common.
    """
    if is_empty(facts, selection):
        raise SelectionEmpty


def chosen(facts: Facts, selection: Selection) -> Facts:
    """The facts that are needed to judge the selection. Raises SelectionUnknown."""
    if not selection.narrows:
        return facts
    cells_selected(facts.cells, selection)
    if facts.coverage.complete and not selection.may_be_gone:
        _refuse_unknown(facts, selection)
    selection = with_spellings(selection, facts)
    kept = with_partners(facts, subjects(facts, selection))
    places = selection.hosts | {row.host for row in nodes_selected(facts, selection)}
    # If a host cannot be judged, neither can its instances, and the audit has to say so.
    hosts = places | hosts_of(facts, kept)
    near = hosts | hosts_of_moves(facts, kept) | selection.hypervisors
    judged = _subjects_judged(facts, selection, kept)
    asked = near | hosts_left(facts, kept)
    providers = within_trees(facts.providers, _roots(facts, selection, kept, near))
    ports = tuple(row for row in facts.ports if row.device in kept)
    holders = ((port.id, holder_of_port(port, facts)) for port in ports)
    return replace(
        facts,
        providers=providers,
        consumers={uuid: held for uuid, held in facts.consumers.items() if uuid in kept},
        holdings={uuid: held for uuid, held in facts.holdings.items() if uuid in kept},
        owners={uuid: owner for uuid, owner in facts.owners.items() if uuid in kept},
        instances=tuple(row for row in facts.instances if row.uuid in kept),
        migrations=tuple(
            row for row in facts.migrations if row.instance in kept or row.uuid in kept
        ),
        request_specs=facts.request_specs & kept,
        specs={uuid: spec for uuid, spec in facts.specs.items() if uuid in kept},
        block_devices=tuple(row for row in facts.block_devices if row.instance in kept),
        pci_devices=tuple(row for row in facts.pci_devices if row.instance in kept),
        instance_mappings=tuple(row for row in facts.instance_mappings if row.instance in kept),
        ports=ports,
        port_holders={port: holder for port, holder in holders if holder is not None},
        # Not every cell was asked about other domains.
        domains=tuple(r for r in facts.domains if r.host in places or r.uuid in kept),
        hypervisors_asked=_asked_of(facts, asked),
        hosts_in_scope=hosts,
        providers_in_scope=judged,
        ledger_faults=tuple(_faults_of(facts, judged, kept, providers)),
    )


def _faults_of(
    facts: Facts, judged: frozenset[str], kept: frozenset[str], providers: Container[str]
) -> Iterator[LedgerFault]:
    """The faults of judged providers, and those that may concern these consumers."""
    may_be_theirs = holds_nothing(facts, kept)
    for row in facts.ledger_faults:
        near = row.subject in providers and not row.consumers and may_be_theirs
        if row.subject in judged or near or not kept.isdisjoint(row.consumers):
            yield row


def _asked_of(facts: Facts, hosts: frozenset[str]) -> frozenset[str] | None:
    every = facts.hypervisors_asked
    return None if every is None else every & hosts


def _subjects_judged(facts: Facts, selection: Selection, kept: frozenset[str]) -> frozenset[str]:
    """The providers and compute nodes that are judged: those of the selected places.

    For all others, not every consumer was read. Also the tables in which rows of these consumers
    (`kept`) refer to a provider or resource class that does not exist.
    """
    if selection.uuids | selection.projects:
        return NOBODY
    return _places_judged(facts, selection) | {
        row.subject
        for row in facts.ledger_faults
        if row.kind == "dangling" and not kept.isdisjoint(row.consumers)
    }


def _places_judged(facts: Facts, selection: Selection) -> frozenset[str]:
    nodes = nodes_selected(facts, selection)
    if not selection.cells:
        unlisted = selection.providers & {row.subject for row in facts.ledger_faults}
        return providers_selected(facts, selection) | {row.uuid for row in nodes} | unlisted
    cells = cells_selected(facts.cells, selection)
    uuids = frozenset(row.uuid for row in nodes if row.cell in cells)
    trees = frozenset(row.uuid for row in facts.providers.values() if row.root in uuids)
    if selection.hosts | selection.providers:
        trees &= providers_selected(facts, selection)
    return trees | uuids


def _roots(
    facts: Facts, selection: Selection, kept: frozenset[str], hosts: frozenset[str]
) -> frozenset[str]:
    """The roots of the trees to keep: of named providers, of these hosts, and of allocations.

    At least these trees are read from Placement.
    """
    named = (facts.providers[uuid].root for uuid in providers_selected(facts, selection))
    held = (facts.consumers[uuid] for uuid in kept & facts.consumers.keys())
    of_hosts = roots_of_nodes(facts, nodes_of(facts, hosts))
    return roots_connected(facts, frozenset(named) | of_hosts | roots_of_held(facts, held))


def subjects(facts: Facts, selection: Selection) -> frozenset[str]:
    """The instances and other consumers that are selected, by uuid."""
    sides = (
        _by_uuid(selection),
        _by_place(facts, selection),
        _by_cell(facts, selection),
        _by_project(selection),
    )
    everybody = facts.consumers.keys() | facts.alive.keys() | facts.deleted.keys()
    # Nova may map an instance that has no row in any cell.
    everybody |= facts.mappings.keys() & selection.uuids
    return frozenset(
        uuid
        for uuid in everybody
        if all(side(uuid, _rows_of(facts, uuid), facts.consumers.get(uuid, {})) for side in sides)
    )


def _rows_of(facts: Facts, uuid: str) -> tuple[Instance, ...]:
    """The living rows of an instance, in any cell; without any, its last deleted row."""
    rows = facts.instance_rows.get(uuid, ())
    return tuple(row for row in rows if not row.deleted) or rows[-1:]


# Whether an instance, or another consumer that has no rows, is selected by its uuid and place.
Side = Callable[[str, tuple[Instance, ...], Amounts], bool]


def _by_uuid(selection: Selection) -> Side:
    return lambda uuid, rows, held: not selection.uuids or uuid in selection.uuids


def _by_place(facts: Facts, selection: Selection) -> Side:
    if not selection.hosts | selection.providers:
        return lambda uuid, rows, held: True
    hosts, providers = hosts_selected(facts, selection), providers_selected(facts, selection)
    names, nodes = alike(hosts), alike(row.node for row in nodes_of(facts, hosts))
    guests = _guests_on(hosts, facts)

    def is_there(uuid: str, rows: tuple[Instance, ...], held: Amounts) -> bool:
        on_host = any(not row.deleted and may_be_on(row, names, nodes) for row in rows)
        return on_host or uuid in guests or not providers.isdisjoint(held)

    return is_there


def _by_cell(facts: Facts, selection: Selection) -> Side:
    cells = cells_selected(facts.cells, selection)
    if not selection.cells:
        return lambda uuid, rows, held: True
    nodes = [row for row in facts.compute_nodes if row.cell in cells]
    roots = frozenset(row.uuid for row in nodes)
    guests = _guests_on(frozenset(row.host for row in nodes), facts)

    def is_there(uuid: str, rows: tuple[Instance, ...], held: Amounts) -> bool:
        if any(not row.deleted and row.cell in cells for row in rows):
            return True
        return uuid in guests or not roots.isdisjoint(facts.roots_of(held))

    return is_there


def _guests_on(hosts: frozenset[str], facts: Facts) -> frozenset[str]:
    """The uuids of Nova's domains on these hosts."""
    return frozenset(row.uuid for row in facts.domains if row.ours and row.host in hosts)


def _by_project(selection: Selection) -> Side:
    """By Nova's project: Placement's project is not read for every consumer."""
    if not selection.projects:
        return lambda uuid, rows, held: True
    return lambda uuid, rows, held: any(row.project in selection.projects for row in rows)


def providers_selected(facts: Facts, selection: Selection) -> frozenset[str]:
    """The selected providers: those that are named, and whole trees by their root or host."""
    named = {
        row.uuid for row in facts.providers.values() if {row.uuid, row.name} & selection.providers
    }
    nodes = [row for row in facts.compute_nodes if row.host in selection.hosts]
    called = {row.node for row in nodes} | selection.hosts
    roots = named | {row.uuid for row in nodes}
    roots |= {row.uuid for row in facts.providers.values() if row.name in called}
    within = {row.uuid for row in facts.providers.values() if row.root in roots}
    return frozenset(named | within)


def hosts_selected(facts: Facts, selection: Selection) -> frozenset[str]:
    """The selected hosts, by name or by their provider.

    A provider may share only its name with a compute node: then their uuids clash. Or a compute
    node has the given name or uuid, and Placement does not list its provider.
    """
    providers = providers_selected(facts, selection) if selection.providers else NOBODY
    names = {facts.providers[uuid].name for uuid in providers}
    called = providers | names | selection.providers
    rows = (row for row in facts.compute_nodes if {row.uuid, row.node} & called)
    return selection.hosts | {row.host for row in rows}


def nodes_selected(facts: Facts, selection: Selection) -> tuple[ComputeNode, ...]:
    """The compute nodes of the selected hosts; if only cells are selected, of all their hosts."""
    if selection.hosts | selection.providers:
        return nodes_of(facts, hosts_selected(facts, selection))
    if selection.uuids | selection.projects or not selection.cells:
        return ()
    cells = cells_selected(facts.cells, selection)
    return tuple(row for row in facts.compute_nodes if row.cell in cells)


def _refuse_unknown(facts: Facts, selection: Selection) -> None:
    """SAFETY: an audit of a name that does not exist would find nothing, and look clean."""
    names = {row.name for row in facts.providers.values()}
    hosts = {row.host for row in (*facts.compute_nodes, *facts.deleted_compute_nodes)}
    hosts |= {row.host for row in facts.host_mappings} | names
    spelled = spellings(facts.compute_nodes)
    hosts |= {host for host in selection.hosts if as_compared(host) in spelled}
    uuids = {*facts.alive, *facts.deleted, *facts.consumers, *facts.builds, *facts.mappings}
    uuids |= {row.uuid for row in facts.migrations}
    providers = names | set(facts.providers) | {row.subject for row in facts.ledger_faults}
    providers |= {name for row in facts.compute_nodes for name in (row.uuid, row.node)}
    known: Iterable[tuple[str, frozenset[str], set[str]]] = (
        ("instance", selection.instances, uuids),
        ("consumer", selection.consumers, uuids),
        ("host", selection.hosts, hosts),
        ("provider", selection.providers, providers),
    )
    for kind, asked, there in known:
        for name in sorted(asked - there):
            raise unknown(kind, name, there)
