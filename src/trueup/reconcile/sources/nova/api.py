# SPDX-License-Identifier: Apache-2.0
"""Reads Nova over its API, as an administrator. Read-only.

The API has only a part of the facts in Nova's databases, and does not name cells. Everything it
returns is put into one cell, ANSWERING_CELLS. A second one, DOWN_CELLS, stands for all cells that
are down, and is silent while there are any.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import (
    ComputeNode,
    Flavor,
    Instance,
    InstanceState,
    Migration,
    ServerGroup,
    instance_state,
    is_uuid,
)
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import document_of, send_request, well_formed
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import documents
from trueup.reconcile.sources.nova.contract import (
    API_CELL,
    DOWN_CELL,
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)
from trueup.reconcile.sources.nova.documents import UNKNOWN, Document
from trueup.reconcile.sources.nova.flavors import read_flavors
from trueup.reconcile.sources.nova.hypervisors import NOVA_API, hypervisors_called
from trueup.reconcile.threads import threads

# Migrations have a UUID since 2.59. The newest one used is that of a server's image properties.
NEEDED, NEWEST_USED = 59, 98
# Since 2.69 the API marks servers and services in cells that do not answer.
NAMES_DOWN_CELLS = 69
ROWS_IN_PAGE = 1000
PARALLEL_REQUESTS = 8
# Nova waits 60 s for the cells that are down, for all of them at once, and answers with the rows of
# the others. One request may ask the cells several times: a page of servers asks twice, for the
# instances and for their block devices.
ANSWER_SECONDS = 3 * 60 + 10

ANSWERING_CELLS = NovaCell(API_CELL, NOVA_API, url="")
DOWN_CELLS = NovaCell(DOWN_CELL, "cells that are down", url="")
_ALIVE = "/servers/detail?all_tenants=1"
_DELETED = f"{_ALIVE}&deleted=True"
Parsed = TypeVar("Parsed")


class NovaApi:
    """A client of one Nova. Every method raises Unreachable or AccessDenied."""

    read_via: str = "API"
    registry_source: str = "Nova's API (host aggregates)"

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._minor = 0
        self._first_page: list[Document] | None = None
        self._services: list[Document] | None = None
        self._seen: dict[str, Instance] = {}
        self._asking = Lock()

    def cells(self) -> tuple[NovaCell, ...]:
        """The cell for everything that the API returns, and the one for cells that are down."""
        with self._asking:
            self._first_page = self._services = None
            self._seen = {}
        self.newest_minor()
        return ANSWERING_CELLS, DOWN_CELLS

    def newest_minor(self) -> int:
        """The newest microversion that both sides support. Raises Unreachable if it is too old."""
        if not self._minor:
            answer = document_of(NOVA_API, send_request(NOVA_API, self._adapter, "GET", "/"))
            with well_formed(NOVA_API):
                word = answer["version"]["version"]
                newest = int(word.split(".")[1]) if word else 0
            if newest < NEEDED:
                raise Unreachable(
                    NOVA_API,
                    f"it supports microversions up to 2.{newest}, and 2.{NEEDED} is needed",
                )
            self._minor = min(newest, NEWEST_USED)
        return self._minor

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        """Host aggregates, and the kinds of facts that the API does not have.

        An aggregate without a UUID is noted and left out, as in the databases.
        """
        rows = self._parsed(self._get("/os-aggregates"), "aggregates", documents.host_aggregate)
        notes = Notes()
        for row in rows:
            if not is_uuid(row.uuid):
                reason = f"{row.uuid!r} is no UUID, and the aggregate is not compared"
                notes.add("aggregates", row.name, "uuid", reason)
        return Registry(
            host_aggregates=tuple(row for row in rows if is_uuid(row.uuid)),
            noted=notes.so_far(documents.NOT_SHOWN),
        )

    def contents(self, cell: NovaCell, counted: CountInstances = lambda _: None) -> CellContents:
        """All servers that are not deleted, their migrations, and all hosts.

        For DOWN_CELLS, raises Unreachable if a cell is down, or if the API cannot tell.
        """
        if cell.uuid == DOWN_CELLS.uuid:
            return self.hosts(cell)
        soft_deleted = self._pages(f"{_DELETED}&status=SOFT_DELETED")
        servers = self._known(chain(self._servers(), soft_deleted))
        counted(len(servers))
        return replace(self.hosts(cell), instances=servers, migrations=self._migrations())

    def hosts(self, cell: NovaCell) -> CellContents:
        """Hosts. Raises Unreachable for DOWN_CELLS, as `contents` does."""
        if cell.uuid == DOWN_CELLS.uuid:
            self._refuse_silence()
            return CellContents()
        return CellContents(
            compute_nodes=self._compute_nodes(),
            services=self._each(
                (row for row in self._all_services() if row["status"] != UNKNOWN),
                lambda row: documents.compute_service(row, ANSWERING_CELLS.uuid),
            ),
        )

    def service_reports(self, cell: NovaCell, host: str) -> CellContents:
        """Services. Raises Unreachable for DOWN_CELLS, as `hosts` does."""
        if cell.uuid == DOWN_CELLS.uuid:
            self._refuse_silence()
            return CellContents()
        # Without a filter: with one, Nova leaves out services in cells that are down.
        rows = (row for row in self._all_services() if row["host"] == host)
        return CellContents(
            services=self._each(
                (row for row in rows if row["status"] != UNKNOWN),
                lambda row: documents.compute_service(row, ANSWERING_CELLS.uuid),
            )
        )

    def compute_nodes(self, cell: NovaCell, uuid: str, name: str = "") -> tuple[ComputeNode, ...]:
        """The compute nodes with this UUID, or with this name. Raises as `hosts` does."""
        if cell.uuid == DOWN_CELLS.uuid:
            self._refuse_silence()
            return ()
        found = hypervisors_called(uuid, name, self._send, self._silent_hosts)
        nodes = self._each(found, lambda row: documents.compute_node(row, ANSWERING_CELLS.uuid))
        return tuple(node for node in nodes if node.uuid == uuid or node.node == name)

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        """The servers that match the filter, listed by host and by project."""
        if cell.uuid == DOWN_CELLS.uuid:
            return InstanceIds()
        filters = _filters(wanted)
        living = [f"{_ALIVE}{query}" for query in filters]
        living += [f"{_DELETED}&status=SOFT_DELETED{query}" for query in filters]
        gone = [f"{_DELETED}{query}" for query in filters] if wanted.deleted else []
        listed = self._known(chain.from_iterable(map(self._pages, (*living, *gone))))
        # PERF: a server whose document was in a list is not read again.
        self._seen |= {server.uuid: server for server in listed}
        return InstanceIds(
            frozenset(server.uuid for server in listed if not server.deleted),
            frozenset(server.uuid for server in listed if server.deleted),
        )

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        """These servers, alive or deleted, and migrations of them or with these UUIDs.

        A server whose listing contradicts its own document is returned in both forms.
        """
        wanted = frozenset(uuids)
        if cell.uuid == DOWN_CELLS.uuid:
            return CellContents()
        seen = {uuid: self._seen[uuid] for uuid in wanted & self._seen.keys()}
        unseen = wanted - seen.keys()
        shown = self.lookup(cell, unseen).instances
        servers = (*seen.values(), *shown, *self._listed_otherwise(unseen, shown))
        return CellContents(instances=servers, migrations=self._moves(wanted, servers))

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        """These servers, alive or deleted, and the migrations of `moves_of`.

        A server in a cell that is down is left out.
        """
        if cell.uuid == DOWN_CELLS.uuid:
            return CellContents()
        with threads(PARALLEL_REQUESTS) as pool:
            servers = [
                server for server in pool.map(self._server, sorted(uuids)) if server is not None
            ]
        return CellContents(
            instances=tuple(servers), migrations=self._moves_of(frozenset(moves_of))
        )

    def moves_at(self, cell: NovaCell, host: str) -> tuple[Migration, ...]:
        """The migrations from or to a host."""
        if cell.uuid == DOWN_CELLS.uuid:
            return ()
        return self._listed(f"host={quote(host)}")

    def instance_states(self, cell: str, uuids: Iterable[str]) -> dict[str, InstanceState]:
        """The states of servers now."""
        wanted = tuple(uuids)
        found = self.lookup(ANSWERING_CELLS, wanted, wanted)
        servers = (*found.instances, *self._listed_otherwise(wanted, found.instances))
        moving = {move.instance for move in found.migrations if move.under_way}
        return {row.uuid: instance_state(row, moving=row.uuid in moving) for row in servers}

    def cached_ports(self, cell: NovaCell, uuids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """MAC addresses: a server's document has no ids of ports."""
        if cell.uuid == DOWN_CELLS.uuid:
            return {}
        with threads(PARALLEL_REQUESTS) as pool:
            answers = [*pool.map(lambda uuid: self._send(f"/servers/{uuid}"), sorted(uuids))]
        # One that is gone meanwhile has no ports.
        shown = (document_of(NOVA_API, answer) for answer in answers if answer.status_code != 404)
        rows = self._each(
            shown, lambda row: (row["server"]["id"], documents.addresses(row["server"]))
        )
        return {uuid: addresses for uuid, addresses in rows if addresses}

    def port_holders(self, cell: NovaCell, ports: Iterable[str]) -> frozenset[str]:
        """None: the API does not show what a port holds, of a whole cloud either."""
        return frozenset()

    def flavors(self) -> tuple[Flavor, ...]:
        """The flavors that servers can be made with, by name."""
        return read_flavors(self._adapter)

    def server_groups(self) -> tuple[ServerGroup, ...]:
        """Every server group, of all projects."""
        found: list[Document] = []
        while True:
            path = f"/os-server-groups?all_projects=True&limit={ROWS_IN_PAGE}&offset={len(found)}"
            answer = self._get(path)
            with well_formed(NOVA_API):
                rows = answer["server_groups"]
            found += rows
            # Nova's own limit may be lower.
            if not rows:
                return self._each(found, documents.server_group)

    def close(self) -> None:
        """There is nothing to release."""

    def _compute_nodes(self) -> tuple[ComputeNode, ...]:
        """Compute nodes. Empty while a cell is down: then Nova 34.0.0 answers HTTP 500."""
        try:
            rows = list(self._pages("/os-hypervisors/detail?", "hypervisors"))
        except Unreachable:
            if not self._silent_hosts():
                raise
            return ()
        return self._each(rows, lambda row: documents.compute_node(row, ANSWERING_CELLS.uuid))

    def _silent_hosts(self) -> list[str]:
        return [row["host"] for row in self._all_services() if row["status"] == UNKNOWN]

    def _refuse_silence(self) -> None:
        if self.newest_minor() < NAMES_DOWN_CELLS:
            raise Unreachable(
                DOWN_CELLS.name,
                f"Nova's API supports 2.{self.newest_minor()}, and reports cells that are down only"
                f" from 2.{NAMES_DOWN_CELLS} on",
            )
        # PARITY: a full first page, and all later pages, omit servers in cells that are down.
        # Therefore services are read too.
        silent = [row for row in self._first_servers() if row.get("status") == UNKNOWN]
        hosts = self._silent_hosts()
        if silent or hosts:
            raise Unreachable(
                DOWN_CELLS.name,
                f"{len(silent)} servers and {len(hosts)} services are {UNKNOWN}"
                + (f": {', '.join(sorted(hosts)[:10])}" if hosts else ""),
            )

    def _first_servers(self) -> list[Document]:
        """The first page of servers; only this one includes servers in cells that are down."""
        with self._asking:
            if self._first_page is None:
                answer = self._get(_ALIVE)
                with well_formed(NOVA_API):
                    self._first_page = list(answer["servers"])
            return self._first_page

    def _all_services(self) -> list[Document]:
        with self._asking:
            if self._services is None:
                # Without filters: with them, Nova leaves out services in cells that are down.
                answer = self._get("/os-services")
                with well_formed(NOVA_API):
                    rows = list(answer["services"])
                    self._services = [row for row in rows if row["binary"] == "nova-compute"]
            return self._services

    def _servers(self) -> Iterator[Document]:
        first = self._first_servers()
        yield from first
        known = [row["id"] for row in first if row.get("status") != UNKNOWN]
        if known:
            yield from self._pages(_ALIVE, after=known[-1])

    def _server(self, uuid: str) -> Instance | None:
        response = self._send(f"/servers/{uuid}")
        if response.status_code >= 500 and self._silent_hosts():
            # It may be in a cell that is down; then DOWN_CELLS is silent in the coverage.
            return None
        if response.status_code == 404:
            rows = list(self._pages(f"{_DELETED}&uuid={uuid}"))
        else:
            with well_formed(NOVA_API):
                rows = [document_of(NOVA_API, response)["server"]]
        # UNKNOWN: its cell is down, so it counts neither as alive nor as deleted.
        return next(iter(self._known(rows)), None)

    def _listed_otherwise(
        self, uuids: Iterable[str], shown: Iterable[Instance]
    ) -> tuple[Instance, ...]:
        """Living servers in Nova's list whose own document names another host, or is not alive.

        SAFETY: Nova reads a server's document from the cell that its mapping names, and lists the
        servers of all cells. So the two contradict each other if a mapping was lost or a database
        restored. To exclude a move that ended in between, such a document is read a second time.
        """
        with threads(PARALLEL_REQUESTS) as pool:
            pages = pool.map(lambda uuid: list(self._pages(f"{_ALIVE}&uuid={uuid}")), sorted(uuids))
            listed = self._known(chain.from_iterable(pages))
        places = frozenset(map(_place, shown))
        others = [server for server in listed if _place(server) not in places]
        if others:
            again = self.lookup(ANSWERING_CELLS, {server.uuid for server in others}).instances
            places = frozenset(map(_place, again))
        return tuple(server for server in others if _place(server) not in places)

    def _known(self, rows: Iterable[Document]) -> tuple[Instance, ...]:
        known = (row for row in rows if row.get("status") != UNKNOWN)
        return self._each(known, lambda row: documents.instance(row, ANSWERING_CELLS.uuid))

    def _moves(self, uuids: frozenset[str], servers: Iterable[Instance]) -> tuple[Migration, ...]:
        """Migrations of these servers, and those with these UUIDs.

        The API cannot find a migration by its UUID, so for those all migrations are read.
        """
        if uuids == frozenset(server.uuid for server in servers):
            return self._moves_of(uuids)
        every = self._migrations()
        return tuple(move for move in every if move.uuid in uuids or move.instance in uuids)

    def _moves_of(self, instances: frozenset[str]) -> tuple[Migration, ...]:
        """Migrations of these servers."""
        if len(instances) > ROWS_IN_PAGE:
            return tuple(move for move in self._migrations() if move.instance in instances)
        with threads(PARALLEL_REQUESTS) as pool:
            found = pool.map(self._migrations, sorted(instances))
            return tuple(chain.from_iterable(found))

    def _migrations(self, instance: str | None = None) -> tuple[Migration, ...]:
        return self._listed(f"instance_uuid={instance}" if instance else "")

    def _listed(self, chosen: str) -> tuple[Migration, ...]:
        rows = self._pages(f"/os-migrations?{chosen}", "migrations", key="uuid")
        return self._each(rows, lambda row: documents.migration(row, ANSWERING_CELLS.uuid))

    def _pages(
        self, path: str, name: str = "servers", key: str = "id", after: str = ""
    ) -> Iterator[Document]:
        """Rows page by page, until a page is empty."""
        while True:
            marker = f"&marker={after}" if after else ""
            answer = self._get(f"{path}&limit={ROWS_IN_PAGE}{marker}")
            with well_formed(NOVA_API):
                rows = answer[name]
                if not rows:
                    return
                after = rows[-1][key]
            yield from rows
            # If Nova's own limit is lower, the page is shorter and has a link to the next one.
            if f"{name}_links" not in answer:
                return

    def _parsed(
        self, answer: Mapping[str, Any], name: str, parse: Callable[[Document], Parsed]
    ) -> tuple[Parsed, ...]:
        with well_formed(NOVA_API):
            return tuple(map(parse, answer[name]))

    def _each(
        self, rows: Iterable[Document], parse: Callable[[Document], Parsed]
    ) -> tuple[Parsed, ...]:
        found = []
        for row in rows:
            with well_formed(NOVA_API):
                found.append(parse(row))
        return tuple(found)

    def _get(self, path: str) -> Any:
        return document_of(NOVA_API, self._send(path))

    def _send(self, path: str) -> Any:
        return send_request(
            NOVA_API,
            self._adapter,
            "GET",
            path,
            microversion=f"2.{self.newest_minor()}",
            timeout=ANSWER_SECONDS,
        )


def _place(server: Instance) -> tuple[str, bool, str | None, str | None]:
    return server.uuid, server.deleted, server.host, server.node


def _filters(wanted: InstanceFilter) -> list[str]:
    """The query strings that list the servers: one for each host and project."""
    hosts = [""] if wanted.hosts is None else [f"&host={quote(host)}" for host in wanted.hosts]
    projects = (
        [""]
        if wanted.projects is None
        else [f"&project_id={quote(project)}" for project in wanted.projects]
    )
    return sorted(host + project for host in hosts for project in projects)
