# SPDX-License-Identifier: Apache-2.0
"""Answers: what each source of a cloud gave when it was asked, and which of them fell silent."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TypeVar

from trueup.reconcile.facts import (
    NEUTRON,
    Amounts,
    Answer,
    ComputeNode,
    Coverage,
    Domain,
    Facts,
    Lacking,
    Port,
    Provider,
)
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.sources.libvirt import answer_of
from trueup.reconcile.sources.nova.cells import CellContents
from trueup.reconcile.sources.nova.databases import Cell
from trueup.reconcile.sources.nova.registry import Registry
from trueup.reconcile.sources.reading import NOTHING_NOTED, Noted

# stage, how many are done, of how many (0: not known)
Progress = Callable[[str, int, int], None]
Told = TypeVar("Told")

CELLS_AT_ONCE = 4
PLACEMENT = "Placement"
_API = "API"


class Cells:
    """The cells of a cloud: what they told so far, and why one no longer does.

    SAFETY: a cell that was silent once is silent in this run, so that it is in the coverage.
    """

    def __init__(self, cloud: Cloud, cells: Iterable[Cell]) -> None:
        self.every = tuple(cells)
        self._cloud = cloud
        self._contents: dict[Cell, list[CellContents]] = {cell: [] for cell in self.every}
        self._silences: dict[Cell, Answer] = {}

    @property
    def names(self) -> dict[str, str]:
        return {cell.uuid: cell.name for cell in self.every}

    @property
    def contents(self) -> list[CellContents]:
        """All that was told, cell by cell."""
        return [one for told in self._contents.values() for one in told]

    def told_by(self, cell: Cell) -> list[CellContents]:
        return self._contents[cell]

    def ask(self, question: Callable[[Cell], Told]) -> dict[Cell, Told]:
        """What each cell that still answers says to this; contents are kept."""
        heard = [cell for cell in self.every if cell not in self._silences]
        with ThreadPoolExecutor(CELLS_AT_ONCE) as pool:
            told = pool.map(lambda cell: self._ask(cell, question), heard)
            answered = zip(heard, told, strict=True)
            return {cell: answer for cell, answer in answered if answer is not None}

    def answers(self) -> tuple[Answer, ...]:
        """Each cell's part of the coverage."""
        return tuple(self._silences.get(cell) or self._answer(cell) for cell in self.every)

    def _ask(self, cell: Cell, question: Callable[[Cell], Told]) -> Told | None:
        try:
            told = question(cell)
        except Unreachable as silence:
            way = self._cloud.nova.way
            self._silences[cell] = Answer(
                cell.name, False, reason=silence.reason, way=way, answered_at=now()
            )
            return None
        if isinstance(told, CellContents):
            self._contents[cell].append(told)
        return told

    def _answer(self, cell: Cell) -> Answer:
        told = self._contents[cell]
        noted = NOTHING_NOTED
        for one in told:
            noted = noted.and_also(one.noted)
        return _answer(cell.name, self._cloud.nova.way, sum(one.rows for one in told), noted)


@dataclass(frozen=True, slots=True)
class Heard:
    """Everything that was heard of a cloud, source by source. `way`: how Placement was read."""

    taken_at: datetime
    cells: Cells
    registry: Registry
    providers: dict[str, Provider]
    consumers: dict[str, Amounts]
    way: str
    ports: tuple[Port, ...] = ()
    domains: tuple[Domain, ...] = ()
    # Of services that are not always asked.
    answers: tuple[Answer, ...] = ()
    lacking: tuple[Lacking, ...] = field(default=())


def facts_of(cloud: Cloud, heard: Heard) -> Facts:
    """One picture of all that was heard, with its coverage."""
    nova, registry, contents = cloud.nova, heard.registry, heard.cells.contents
    nodes = tuple(chain.from_iterable(one.compute_nodes for one in contents))
    services = tuple(chain.from_iterable(one.services for one in contents))
    of_placement = Answer(
        PLACEMENT,
        True,
        len(heard.providers),
        way=heard.way,
        answered_at=now(),
        lacking=heard.lacking,
    )
    of_registry = _answer(nova.registry_source, nova.way, registry.rows, registry.noted)
    return Facts(
        taken_at=heard.taken_at,
        coverage=Coverage((of_placement, of_registry, *heard.cells.answers(), *heard.answers)),
        cells=heard.cells.names,
        providers=heard.providers,
        consumers=heard.consumers,
        instances=tuple(chain.from_iterable(one.instances for one in contents)),
        migrations=tuple(chain.from_iterable(one.migrations for one in contents)),
        compute_nodes=tuple(row for row in nodes if not row.deleted),
        services=tuple(row for row in services if not row.deleted),
        deleted_compute_nodes=tuple(row for row in nodes if row.deleted),
        deleted_services=tuple(row for row in services if row.deleted),
        build_requests=registry.build_requests,
        disabled_cells=frozenset(cell.uuid for cell in heard.cells.every if cell.disabled),
        host_mappings=registry.host_mappings,
        instance_mappings=registry.instance_mappings,
        request_specs=registry.request_specs,
        specs={row.instance: row for row in registry.specs},
        host_aggregates=registry.host_aggregates,
        block_devices=tuple(chain.from_iterable(one.block_devices for one in contents)),
        pci_devices=tuple(chain.from_iterable(one.pci_devices for one in contents)),
        ports=heard.ports,
        domains=heard.domains,
    )


def ports_of(
    cloud: Cloud, progress: Progress, devices: Iterable[str] | None = None
) -> tuple[tuple[Port, ...], tuple[Answer, ...]]:
    """The ports, and Neutron's answer; neither where no Neutron is named or offered."""
    if cloud.neutron is None or not cloud.neutron.offered():
        return (), ()
    try:
        ports = cloud.neutron.ports(lambda seen: progress("ports", seen, 0), devices)
    except (Unreachable, AccessDenied) as silence:
        answer = Answer(NEUTRON, False, reason=silence.reason, way=_API, answered_at=now())
        return (), (answer,)
    return ports, (Answer(NEUTRON, True, len(ports), way=_API, answered_at=now()),)


def domains_of(
    cloud: Cloud, nodes: Iterable[ComputeNode]
) -> tuple[tuple[Domain, ...], tuple[Answer, ...]]:
    """The domains of the hosts of these nodes, and libvirt's answer, where it is asked."""
    if cloud.hypervisors is None:
        return (), ()
    hosts = sorted({row.host for row in nodes if not row.deleted})
    every = tuple(cloud.hypervisors.domains(hosts))
    answer = replace(answer_of(every), answered_at=now())
    return tuple(chain.from_iterable(one.domains for one in every)), (answer,)


def now() -> datetime:
    """As Nova keeps times: naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def _answer(source: str, way: str, rows: int, noted: Noted) -> Answer:
    return Answer(
        source=source,
        answered=True,
        rows=rows,
        way=way,
        answered_at=now(),
        unread=noted.unread,
        unread_rows=noted.unread_rows,
        lost_rows=noted.lost_rows,
        lacking=noted.lacking,
    )
