# SPDX-License-Identifier: Apache-2.0
"""Collect: a cloud → facts. Sources are read side by side, and each says whether it answered."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain

from trueup.reconcile.cloud import Cloud
from trueup.reconcile.cloud.errors import AccessDenied, Unreachable
from trueup.reconcile.cloud.hypervisors import answer_of
from trueup.reconcile.cloud.ledger import Ledger
from trueup.reconcile.cloud.nova import Cell
from trueup.reconcile.cloud.nova_cells import CellContents, CellLookup
from trueup.reconcile.cloud.nova_queries import NOTHING, Narrowing
from trueup.reconcile.cloud.nova_registry import Registry
from trueup.reconcile.cloud.reading import Noted
from trueup.reconcile.facts import NEUTRON, Answer, Coverage, Domain, Facts, Port
from trueup.reconcile.selection import EVERYTHING, NOBODY, Selection, cells_selected, chosen
from trueup.reconcile.selection import subjects as subjects_of

# stage, how many are done, of how many (0: not known)
Progress = Callable[[str, int, int], None]

_CELLS_AT_ONCE = 4
_API = "API"
PLACEMENT = "Placement"


@dataclass(frozen=True, slots=True)
class _Told:
    """One cell's answer, its contents if it gave them, and what it was asked after that."""

    cell: Cell
    answer: Answer
    contents: CellContents | None = None
    lookup: CellLookup | None = None


def collect(cloud: Cloud, progress: Progress, selection: Selection = EVERYTHING) -> Facts:
    """One picture of the cloud, or of what is selected of it.

    Raises SelectionUnknown, and Unreachable when Placement or Nova's API database does not answer,
    since without them nothing can be said; a cell that does not answer is named in the coverage.
    """
    taken_at = _now()
    cells = cloud.nova.cells()
    wanted = _wanted(cells, selection)
    with ThreadPoolExecutor(_CELLS_AT_ONCE + 3) as pool:
        asked_ledger = pool.submit(
            lambda: cloud.placement.ledger(lambda done, total: progress("providers", done, total))
        )
        asked_registry = pool.submit(lambda: cloud.nova.registry(cells, _of_registry(selection)))
        asked_ports = pool.submit(lambda: _read_ports(cloud, progress))
        told = _read_cells(cloud, wanted, progress, pool)
        ledger, registry = asked_ledger.result(), asked_registry.result()
        ports, of_neutron = asked_ports.result()
    domains, of_libvirt = _read_domains(cloud, told)
    told = _look_up(cloud, told, ledger, selection)
    coverage = Coverage(
        (
            Answer(PLACEMENT, True, len(ledger.providers), way=ledger.way, answered_at=_now()),
            _answer(cloud.nova.registry_source, cloud.nova.way, registry.rows, registry.noted),
            *(one.answer for one in told),
            *of_neutron,
            *of_libvirt,
        )
    )
    facts = _facts(taken_at, coverage, ledger, registry, told)
    return chosen(replace(facts, ports=ports, domains=domains), selection)


def with_holdings(facts: Facts, cloud: Cloud, consumers: Iterable[str]) -> Facts:
    """The same facts, and of these consumers also owner and generation."""
    return replace(facts, holdings=cloud.placement.holdings(consumers))


def _facts(
    taken_at: datetime, coverage: Coverage, ledger: Ledger, registry: Registry, told: list[_Told]
) -> Facts:
    contents = [one.contents for one in told if one.contents]
    named = [one.lookup for one in told if one.lookup]
    told_of = [(one.instances, one.migrations) for one in contents]
    told_of += [(one.instances, one.migrations) for one in named]
    nodes = tuple(chain.from_iterable(one.compute_nodes for one in contents))
    services = tuple(chain.from_iterable(one.services for one in contents))
    return Facts(
        taken_at=taken_at,
        coverage=coverage,
        cells={one.cell.uuid: one.cell.name for one in told},
        providers=ledger.providers,
        consumers=ledger.consumers,
        instances=tuple(chain.from_iterable(instances for instances, _ in told_of)),
        migrations=tuple(chain.from_iterable(migrations for _, migrations in told_of)),
        compute_nodes=tuple(row for row in nodes if not row.deleted),
        services=tuple(row for row in services if not row.deleted),
        deleted_compute_nodes=tuple(row for row in nodes if row.deleted),
        deleted_services=tuple(row for row in services if row.deleted),
        build_requests=registry.build_requests,
        disabled_cells=frozenset(one.cell.uuid for one in told if one.cell.disabled),
        host_mappings=registry.host_mappings,
        instance_mappings=registry.instance_mappings,
        request_specs=registry.request_specs,
        host_aggregates=registry.host_aggregates,
        block_devices=tuple(chain.from_iterable(one.block_devices for one in contents)),
        pci_devices=tuple(chain.from_iterable(one.pci_devices for one in contents)),
    )


def _wanted(cells: tuple[Cell, ...], selection: Selection) -> dict[Cell, Narrowing]:
    """Which instances of each cell are read; hosts are read of all."""
    selected = cells_selected({cell.uuid: cell.name for cell in cells}, selection)
    narrowing = Narrowing(
        uuids=selection.uuids or None,
        # Which host a provider is of is known only when both are read.
        hosts=None if selection.providers else selection.hosts or None,
        projects=selection.projects or None,
    )
    return {cell: narrowing if cell.uuid in selected else NOTHING for cell in cells}


def _of_registry(selection: Selection) -> Narrowing:
    """By place or project it is not known here whose mappings are wanted."""
    return Narrowing(uuids=selection.uuids or None)


def _read_cells(
    cloud: Cloud, wanted: Mapping[Cell, Narrowing], progress: Progress, pool: ThreadPoolExecutor
) -> list[_Told]:
    counts: dict[str, int] = {}

    def read(cell: Cell) -> _Told:
        def counted(instances: int) -> None:
            counts[cell.uuid] = instances
            progress("instances", sum(counts.values()), 0)

        try:
            contents = cloud.nova.contents(cell, wanted[cell], counted)
        except Unreachable as silence:
            return _Told(cell, _silent(cloud, cell, silence))
        return _Told(cell, _told(cloud, cell, contents.rows, contents.noted), contents)

    told = []
    for one in pool.map(read, wanted):
        told.append(one)
        progress("cells", len(told), len(wanted))
    return told


def _look_up(cloud: Cloud, told: list[_Told], ledger: Ledger, selection: Selection) -> list[_Told]:
    """Ask every cell about those whom it has not told of yet.

    Without a selection these are the consumers that no cell told of; with one all who may be in
    it, and their moves, since a cell that is not selected may know them too.
    """
    found = [{row.uuid for row in one.contents.instances} for one in told if one.contents]
    known = frozenset().union(*found)
    if not selection.narrows:
        unknown = ledger.consumers.keys() - known
        return [_ask(cloud, one, unknown, NOBODY) for one in told]
    subjects = known | selection.uuids | _holders(told, ledger, selection)
    return [_ask(cloud, one, subjects - _told_by(one), subjects) for one in told]


def _told_by(told: _Told) -> frozenset[str]:
    return frozenset(row.uuid for row in told.contents.instances) if told.contents else NOBODY


def _holders(told: list[_Told], ledger: Ledger, selection: Selection) -> frozenset[str]:
    """The consumers that may be selected by what they hold, or by their deleted instance."""
    contents = [one.contents for one in told if one.contents]
    if selection.uuids:
        return NOBODY
    if selection.projects:
        deleted = frozenset().union(*(one.deleted_uuids for one in contents))
        return deleted & ledger.consumers.keys()
    nodes = tuple(row for one in contents for row in one.compute_nodes if not row.deleted)
    held = Facts(
        taken_at=_now(),
        coverage=Coverage(()),
        cells={one.cell.uuid: one.cell.name for one in told},
        providers=ledger.providers,
        consumers=ledger.consumers,
        compute_nodes=nodes,
    )
    return subjects_of(held, selection)


def _ask(cloud: Cloud, told: _Told, uuids: Iterable[str], moves_of: Iterable[str]) -> _Told:
    """What the cell says of these instances; it may have fallen silent by now."""
    if told.contents is None:
        return told
    try:
        lookup = cloud.nova.lookup(told.cell, uuids, moves_of)
    except Unreachable as silence:
        return replace(told, answer=_silent(cloud, told.cell, silence))
    noted = told.contents.noted.and_also(lookup.noted)
    rows = told.contents.rows + lookup.rows
    return replace(told, answer=_told(cloud, told.cell, rows, noted), lookup=lookup)


def _read_ports(cloud: Cloud, progress: Progress) -> tuple[tuple[Port, ...], tuple[Answer, ...]]:
    """The ports, and Neutron's answer; neither where no Neutron is named or offered."""
    if cloud.neutron is None or not cloud.neutron.offered():
        return (), ()
    try:
        ports = cloud.neutron.ports(lambda seen: progress("ports", seen, 0))
    except (Unreachable, AccessDenied) as silence:
        answer = Answer(NEUTRON, False, reason=silence.reason, way=_API, answered_at=_now())
        return (), (answer,)
    return ports, (Answer(NEUTRON, True, len(ports), way=_API, answered_at=_now()),)


def _read_domains(
    cloud: Cloud, told: Iterable[_Told]
) -> tuple[tuple[Domain, ...], tuple[Answer, ...]]:
    """The domains of every host that a cell knows, and libvirt's answer, where it is asked."""
    if cloud.hypervisors is None:
        return (), ()
    nodes = chain.from_iterable(one.contents.compute_nodes for one in told if one.contents)
    hosts = sorted({row.host for row in nodes if not row.deleted})
    every = tuple(cloud.hypervisors.domains(hosts))
    answer = replace(answer_of(every), answered_at=_now())
    return tuple(chain.from_iterable(one.domains for one in every)), (answer,)


def _told(cloud: Cloud, cell: Cell, rows: int, noted: Noted) -> Answer:
    return _answer(cell.name, cloud.nova.way, rows, noted)


def _answer(source: str, way: str, rows: int, noted: Noted) -> Answer:
    return Answer(
        source=source,
        answered=True,
        rows=rows,
        way=way,
        answered_at=_now(),
        unread=noted.unread,
        unread_rows=noted.unread_rows,
        lost_rows=noted.lost_rows,
        lacking=noted.lacking,
    )


def _silent(cloud: Cloud, cell: Cell, silence: Unreachable) -> Answer:
    way = cloud.nova.way
    return Answer(cell.name, False, reason=silence.reason, way=way, answered_at=_now())


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
