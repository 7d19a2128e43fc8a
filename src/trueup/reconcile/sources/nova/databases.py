# SPDX-License-Identifier: Apache-2.0
"""Reads Nova's own databases: the API database, and every cell that it maps. Read-only."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial as bound
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec.structs import replace
from sqlalchemy import TableClause, select

from trueup.reconcile.facts import (
    SERVICE_DOWN_AFTER,
    ComputeNode,
    ComputeService,
    Flavor,
    Hardware,
    InstanceState,
    Migration,
    ServerGroup,
    instance_state,
)
from trueup.reconcile.sources.columns import Columns
from trueup.reconcile.sources.database import ANSWER_SECONDS, Database, Row, Session
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.sources.nova import tables
from trueup.reconcile.sources.nova.cells import CellReading
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)
from trueup.reconcile.sources.nova.groups import read_groups
from trueup.reconcile.sources.nova.registry import (
    read_flavors,
    read_mapped,
    read_mapped_to,
    read_mappings,
    read_registry,
)
from trueup.reconcile.sources.nova.scheduling import (
    HostsAround,
    Schedule,
    read_api_side,
    read_cell_side,
    read_departures,
    read_flavors_named,
    read_hosts,
    with_group_hosts,
)
from trueup.reconcile.wording import counted

API_DATABASE = "Nova's API database"
Fetched = TypeVar("Fetched")


@dataclass(frozen=True, slots=True)
class CellOptions:
    """How the databases of cells are reached.

    `urls`, by a cell's name or uuid, override the URL of its mapping. A database that does not
    answer within `seconds` counts as silent in this run. `service_down_after` is Nova's
    `service_down_time`.
    """

    urls: Mapping[str, str] = field(default_factory=dict)
    seconds: float = ANSWER_SECONDS
    service_down_after: timedelta = SERVICE_DOWN_AFTER


BY_MAPPING = CellOptions()


class NovaDatabases:
    """Nova's databases. Every method raises Unreachable if a database does not answer.

    `main_url` is nova.conf's [database]connection, from which URL templates in cell mappings are
    filled. Raises DatabaseUnusable if a URL is not a database URL, or its driver is missing.
    """

    read_via: str = "database"
    registry_source: str = API_DATABASE

    def __init__(
        self, api_url: str, main_url: str | None, options: CellOptions = BY_MAPPING
    ) -> None:
        self._api_url = api_url
        self._main_url = main_url
        self._options = options
        self._silent: set[str] = set()
        self._databases: dict[str, Database] = {}
        # Unusable URLs are refused before anything is read.
        self._database(API_DATABASE, api_url)

    def cells(self) -> tuple[NovaCell, ...]:
        """Every cell that is mapped, also cell0 and disabled ones."""

        def fetch(session: Session) -> tuple[NovaCell, ...]:
            columns = Columns(session, API_DATABASE, tables.LATER)
            query = select(*columns.of(tables.cell_mappings))
            return tuple(
                NovaCell(
                    uuid=row.uuid,
                    name=row.name or row.uuid,
                    url=self._cell_url(row),
                    number=row.id,
                    disabled=bool(row.disabled),
                )
                for row in session.every_row(query, tables.cell_mappings.c.id)
            )

        return self._ask_registry(fetch)

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        numbers = {cell.number: cell.uuid for cell in cells}
        return self._ask_registry(
            lambda session: read_registry(session, API_DATABASE, numbers, uuids)
        )

    def contents(self, cell: NovaCell, counted: CountInstances = lambda _: None) -> CellContents:
        return self._not_lost(cell, self._ask_cell(cell, lambda reading: reading.contents(counted)))

    def hosts(self, cell: NovaCell) -> CellContents:
        return self._not_lost(cell, self._ask_cell(cell, lambda reading: reading.hosts()))

    def hardware(self, cell: NovaCell) -> dict[str, Hardware]:
        """The hardware of each compute node of a cell, by uuid."""
        return self._ask_cell(cell, lambda reading: reading.hardware())

    def schedule(self, uuid: str, *, resized: bool = False) -> Schedule | None:
        """The scheduler's inputs for a server, and hosts; None: Nova has no request of the server.

        `resized`: the new flavor may ask for NUMA cells, which the old one does not.
        Raises NotARequest. A cell that does not answer is named, and its hosts are left out.
        """
        cells = self.cells()
        side = self._ask_registry(lambda session: read_api_side(session, API_DATABASE, uuid))
        if side.request is None:
            return None
        server, places, answered = None, dict[str, str](), list[NovaCell]()
        for cell in cells:
            try:
                found = self._ask_session(cell, bound(read_cell_side, request=side.request))
            except Unreachable:
                continue
            answered.append(cell)
            places |= found.places
            server = found.server if cell.number == side.cell else server
        hardware = resized or bool(side.request.numa or side.request.devices)
        known = HostsAround(side.aggregates, places, hardware)
        hosts = [
            host
            for cell in answered
            if not cell.disabled
            for host in self._ask_session(
                cell, bound(read_hosts, services=self._living(cell), known=known)
            )
        ]
        departures = (
            moment for cell in answered for moment in self._ask_session(cell, read_departures)
        )
        return Schedule(
            request=with_group_hosts(side.request, places),
            server=server,
            aggregates=side.aggregates,
            hosts=tuple(hosts),
            silent=tuple(cell.name for cell in cells if cell not in answered),
            departures=tuple(departures),
        )

    def _living(self, cell: NovaCell) -> tuple[ComputeService, ...]:
        services = self._ask_cell(cell, lambda reading: reading.services())
        return tuple(service for service in services if not service.deleted)

    def _ask_session(
        self, cell: NovaCell, fetch: Callable[[Session, str, str], Fetched]
    ) -> Fetched:
        database = self._database(cell.name, cell.url)
        return database.ask(lambda session: fetch(session, cell.uuid, cell.name))

    def flavors_named(self, name: str) -> list[Flavor]:
        """The flavors with this id or name."""
        return self._ask_registry(lambda session: read_flavors_named(session, API_DATABASE, name))

    def service_reports(self, cell: NovaCell, host: str) -> CellContents:
        return self._ask_cell(cell, lambda reading: reading.service_reports(host))

    def compute_nodes(self, cell: NovaCell, uuid: str, name: str = "") -> tuple[ComputeNode, ...]:
        return self._ask_cell(cell, lambda reading: reading.compute_nodes(uuid, name))

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        return self._ask_cell(cell, lambda reading: reading.instance_ids(wanted))

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        wanted = sorted(uuids)
        return self._ask_cell(cell, lambda reading: reading.instances(wanted))

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        wanted, movers = sorted(uuids), sorted(moves_of)
        return self._ask_cell(cell, lambda reading: reading.lookup(wanted, movers))

    def moves_at(self, cell: NovaCell, host: str) -> tuple[Migration, ...]:
        return self._ask_cell(cell, lambda reading: reading.moves_at(host))

    def cached_ports(self, cell: NovaCell, uuids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        wanted = sorted(uuids)
        return self._ask_cell(cell, lambda reading: reading.cached_ports(wanted))

    def port_holders(self, cell: NovaCell, ports: Iterable[str]) -> frozenset[str]:
        wanted = sorted(ports)
        return self._ask_cell(cell, lambda reading: reading.port_holders(wanted))

    def instance_states(self, cell: str, uuids: Iterable[str]) -> dict[str, InstanceState]:
        """The states of instances as they are now in the cell with this uuid.

        If an instance is also alive in another cell, or is mapped to one, its state has that cell's
        uuid. The cells are read again, because another one may have been mapped since.
        """
        wanted, cells = tuple(uuids), {nova_cell.uuid: nova_cell for nova_cell in self.cells()}
        if cell not in cells:
            return {}
        found = self.lookup(cells[cell], wanted, moves_of=wanted)
        moving = {move.instance for move in found.migrations if move.under_way}
        # If there is also a row that is not archived, the archived one is an earlier instance's.
        rows = sorted(found.instances, key=lambda row: row.archived, reverse=True)
        states = {row.uuid: instance_state(row, moving=row.uuid in moving) for row in rows}
        elsewhere = self._elsewhere(cells.pop(cell), cells.values(), wanted)
        moved = {uuid: elsewhere[uuid] for uuid in states.keys() & elsewhere.keys()}
        return states | {
            uuid: replace(states[uuid], cell=cell_uuid) for uuid, cell_uuid in moved.items()
        }

    def _elsewhere(
        self, cell: NovaCell, others: Iterable[NovaCell], uuids: Sequence[str]
    ) -> dict[str, str]:
        """Those of these instances that are also in another cell, with that cell's uuid.

        An instance whose mapping has no cell is in the cell "". SAFETY: if a cell does not answer,
        its instances are unknown, as when the plan was made; then only the mapping names a cell.
        """
        known = {nova_cell.number: nova_cell.uuid for nova_cell in (cell, *others)}
        mappings = self._ask_registry(
            lambda session: read_mappings(session, API_DATABASE, known, uuids)
        )
        found = {row.instance: row.cell or "" for row in mappings if row.cell != cell.uuid}
        for other in others:
            # PERF: a hanging cell costs its time limit once, not before each step.
            if other.uuid in self._silent:
                continue
            try:
                rows = self.lookup(other, uuids).instances
            except Unreachable:
                self._silent.add(other.uuid)
            else:
                found |= {row.uuid: other.uuid for row in rows if not row.deleted}
        return found

    def flavors(self) -> tuple[Flavor, ...]:
        """The flavors that servers can be made with, by name."""
        return self._ask_registry(lambda session: read_flavors(session, API_DATABASE))

    def server_groups(self) -> tuple[ServerGroup, ...]:
        return self._ask_registry(lambda session: read_groups(session, API_DATABASE))

    def close(self) -> None:
        for database in self._databases.values():
            database.close()

    def _not_lost(self, cell: NovaCell, found: CellContents) -> CellContents:
        """The same contents. Raises Unreachable if hosts or instances of the cell are lost.

        SAFETY: an empty answer proves nothing. An instance that looks deleted may be alive in a
        cell whose database was lost and recreated. But a new cell has no mappings yet, or has
        nova-computes of bare metal, which are mapped before they have nodes. And in a cell without
        hosts, all instances may be archived while some of their mappings are left.
        """
        if self._has_rows(cell, tables.instances):
            return found
        hosts, instances = self._ask_registry(lambda session: read_mapped(session, cell.number))
        if found.compute_nodes or self._has_rows(cell, tables.compute_nodes):
            if instances:
                self._refuse_lost_instances(cell)
            return found
        lost = hosts and not found.services
        if not lost and (not instances or self._has_rows(cell, tables.shadow_instances)):
            return found
        numbers = (("host", hosts), ("instance", instances))
        mapped = " and ".join(counted(number, noun) for noun, number in numbers if number)
        raise Unreachable(
            cell.name,
            f"its database is empty, though Nova maps {mapped} to it: it may have been restored or "
            "recreated",
        )

    def _refuse_lost_instances(self, cell: NovaCell) -> None:
        """Raises Unreachable if a cell with hosts and without instances has lost instances.

        Nova deletes the mapping of an instance that it archives. The mappings are read before the
        cell: Nova maps an instance after it has made its row, maybe a moment ago.
        """
        mapped = self._ask_registry(lambda session: read_mapped_to(session, cell.number))
        lost = mapped - {row.uuid for row in self.lookup(cell, mapped).instances}
        if lost:
            number = counted(len(lost), "instance")
            raise Unreachable(
                cell.name,
                f"its table of instances is empty, though Nova maps {number} to it that it did not "
                "archive: it may have been restored or recreated. If they were all archived and "
                "purged, delete their rows in instance_mappings",
            )

    def _has_rows(self, cell: NovaCell, *asked: TableClause) -> bool:
        return self._ask_cell(cell, lambda reading: reading.has_rows(*asked))

    def _ask_registry(self, fetch: Callable[[Session], Fetched]) -> Fetched:
        return self._database(API_DATABASE, self._api_url).ask(fetch)

    def _ask_cell(self, cell: NovaCell, fetch: Callable[[CellReading], Fetched]) -> Fetched:
        database, down_after = self._database(cell.name, cell.url), self._options.service_down_after
        return database.ask(
            lambda session: fetch(CellReading(session, cell.name, cell.uuid, down_after))
        )

    def _database(self, source: str, url: str) -> Database:
        key = f"{source} {url}"
        if key not in self._databases:
            self._databases[key] = Database(source, url, self._options.seconds)
        return self._databases[key]

    def _cell_url(self, row: Row) -> str:
        """A cell's URL: the one that the options name, or its mapping's, filled in as Nova does."""
        named = self._options.urls
        for key in (row.uuid, row.name):
            if key in named:
                return named[key]
        template = str(row.database_connection or "")
        if "{" not in template or self._main_url is None:
            return template
        # Parsed as text, so that escaped characters of the main URL stay escaped.
        main = urlsplit(self._main_url)
        try:
            return template.format(
                scheme=main.scheme,
                username=main.username or "",
                password=main.password or "",
                hostname=main.hostname or "",
                port=main.port or "",
                path=main.path.lstrip("/"),
                query=main.query,
                fragment=main.fragment,
            )
        except (LookupError, ValueError) as error:
            raise DatabaseUnusable(str(row.name), f"its URL template: {error}") from error
