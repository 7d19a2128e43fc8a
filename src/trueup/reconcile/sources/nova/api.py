# SPDX-License-Identifier: Apache-2.0
"""Nova over its API, as an administrator: the facts that the databases have, as far as it has them.

The API does not name cells. So everything it returns is put into one cell, NovaApi.cells()[0]; a
second one stands for all cells that are down, and is silent while there are any. Read-only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

from keystoneauth1.adapter import Adapter

from trueup.reconcile.facts import ComputeNode, Instance, Migration, Unsupported
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.http import checked, sent, understood
from trueup.reconcile.sources.notes import Noted
from trueup.reconcile.sources.nova import documents
from trueup.reconcile.sources.nova.contract import (
    CellContents,
    CountInstances,
    InstanceFilter,
    InstanceIds,
    NovaCell,
    Registry,
)
from trueup.reconcile.sources.nova.documents import UNKNOWN, Document
from trueup.reconcile.steps import InstanceState, instance_state

NOVA_API = "Nova's API"
# Migrations have a uuid since 2.59; nothing newer than a server's image properties is asked for.
NEEDED, NEWEST_USED = 59, 98
# Since 2.69 it says which servers and services are in cells that do not answer.
NAMES_DOWN_CELLS = 69
ROWS_IN_PAGE = 1000
PARALLEL_REQUESTS = 8

TOLD = NovaCell("nova-api", NOVA_API, url="")
DOWN = NovaCell("cells-that-are-down", "cells that are down", url="")
_UNSUPPORTED = tuple(
    Unsupported(what, "Nova's API does not tell")
    for what in (
        "archived rows",
        "build requests",
        "flavors of a resize under way",
        "hidden instances",
        "host mappings",
        "instance mappings",
        "NUMA topologies",
        "PCI devices",
        "request specs",
    )
)
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
        """The cell of everything that the API returns, and the one of cells that are down."""
        with self._asking:
            self._first_page = self._services = None
            self._seen = {}
        self.newest_minor()
        return TOLD, DOWN

    def newest_minor(self) -> int:
        """The newest microversion that both sides speak. Raises Unreachable when it is too old."""
        if not self._minor:
            answer = checked(NOVA_API, sent(NOVA_API, self._adapter, "GET", "/"))
            with understood(NOVA_API):
                word = answer["version"]["version"]
                newest = int(word.split(".")[1]) if word else 0
            if newest < NEEDED:
                raise Unreachable(NOVA_API, f"it speaks 2.{newest}, and 2.{NEEDED} is needed")
            self._minor = min(newest, NEWEST_USED)
        return self._minor

    def registry(self, cells: Iterable[NovaCell], uuids: Iterable[str] | None = None) -> Registry:
        """Host aggregates, and the names of what the API does not tell."""
        rows = self._parsed(self._get("/os-aggregates"), "aggregates", documents.host_aggregate)
        return Registry(host_aggregates=tuple(rows), noted=Noted(unsupported=_UNSUPPORTED))

    def contents(self, cell: NovaCell, counted: CountInstances = lambda _: None) -> CellContents:
        """All servers that are not deleted, their moves, and hosts.

        Raises Unreachable for the cells that are down, unless the API can name them and none is.
        """
        if cell.uuid == DOWN.uuid:
            return self.hosts(cell)
        soft_deleted = self._pages(f"{_DELETED}&status=SOFT_DELETED")
        servers = self._told(chain(self._servers(), soft_deleted))
        counted(len(servers))
        return replace(self.hosts(cell), instances=servers, migrations=self._migrations())

    def hosts(self, cell: NovaCell) -> CellContents:
        """Hosts. Raises Unreachable for the cells that are down, as `contents`."""
        if cell.uuid == DOWN.uuid:
            self._refuse_silence()
            return CellContents()
        return CellContents(
            compute_nodes=self._compute_nodes(),
            services=self._each(
                (row for row in self._all_services() if row["status"] != UNKNOWN),
                lambda row: documents.compute_service(row, TOLD.uuid),
            ),
        )

    def instance_ids(self, cell: NovaCell, wanted: InstanceFilter) -> InstanceIds:
        """The servers that are wanted, host by host and project by project."""
        if cell.uuid == DOWN.uuid:
            return InstanceIds()
        filters = _filters(wanted)
        living = [f"{_ALIVE}{one}" for one in filters]
        living += [f"{_DELETED}&status=SOFT_DELETED{one}" for one in filters]
        gone = [f"{_DELETED}{one}" for one in filters] if wanted.deleted else []
        told = self._told(chain.from_iterable(map(self._pages, (*living, *gone))))
        # PERF: a server whose document was in a list is not asked for again.
        self._seen |= {one.uuid: one for one in told}
        return InstanceIds(
            {one.uuid: one.uuid for one in told if not one.deleted},
            {one.uuid: one.uuid for one in told if one.deleted},
        )

    def instances(self, cell: NovaCell, uuids: Iterable[str]) -> CellContents:
        """These servers, alive or deleted, and moves of them or with these uuids."""
        wanted = frozenset(uuids)
        if cell.uuid == DOWN.uuid:
            return CellContents()
        seen = {uuid: self._seen[uuid] for uuid in wanted & self._seen.keys()}
        asked = self.lookup(cell, wanted - seen.keys())
        servers = (*seen.values(), *asked.instances)
        return CellContents(instances=servers, migrations=self._moves(wanted, servers))

    def lookup(
        self, cell: NovaCell, uuids: Iterable[str], moves_of: Iterable[str] = ()
    ) -> CellContents:
        """These servers, alive or deleted, and the moves of those; one that is down is nowhere."""
        if cell.uuid == DOWN.uuid:
            return CellContents()
        with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
            servers = [one for one in pool.map(self._server, sorted(uuids)) if one is not None]
            moves = [row for rows in pool.map(self._migrations, sorted(moves_of)) for row in rows]
        return CellContents(instances=tuple(servers), migrations=tuple(moves))

    def instance_state(self, cell: str, uuid: str) -> InstanceState | None:
        """The state of a server as it is now; None: Nova knows none."""
        found = self.lookup(TOLD, [uuid], [uuid])
        if not found.instances:
            return None
        return instance_state(
            found.instances[0], moving=any(one.under_way for one in found.migrations)
        )

    def close(self) -> None:
        """There is nothing to release."""

    def _compute_nodes(self) -> tuple[ComputeNode, ...]:
        """None at all while a cell is down, where Nova then fails (34.0.0: HTTP 500)."""
        try:
            rows = list(self._pages("/os-hypervisors/detail?", "hypervisors"))
        except Unreachable:
            if not self._silent_hosts():
                raise
            return ()
        return self._each(rows, lambda row: documents.compute_node(row, TOLD.uuid))

    def _silent_hosts(self) -> list[str]:
        return [row["host"] for row in self._all_services() if row["status"] == UNKNOWN]

    def _refuse_silence(self) -> None:
        if self.newest_minor() < NAMES_DOWN_CELLS:
            raise Unreachable(
                DOWN.name,
                f"Nova's API speaks 2.{self.newest_minor()}, and names no cell that is down before "
                f"2.{NAMES_DOWN_CELLS}",
            )
        # PARITY: a page that is full of other servers has no room for those of cells that are
        # down, nor has any page after the first; so services are asked as well.
        silent = [row for row in self._first_servers() if row.get("status") == UNKNOWN]
        hosts = self._silent_hosts()
        if silent or hosts:
            raise Unreachable(
                DOWN.name,
                f"{len(silent)} servers and {len(hosts)} services are {UNKNOWN}"
                + (f": {', '.join(sorted(hosts)[:10])}" if hosts else ""),
            )

    def _first_servers(self) -> list[Document]:
        """The first page, without paging: only so are cells that are down mentioned."""
        with self._asking:
            if self._first_page is None:
                answer = self._get(_ALIVE)
                with understood(NOVA_API):
                    self._first_page = list(answer["servers"])
            return self._first_page

    def _all_services(self) -> list[Document]:
        with self._asking:
            if self._services is None:
                # Without filters, lest it leave out what is down.
                answer = self._get("/os-services")
                with understood(NOVA_API):
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
        response = self._sent(f"/servers/{uuid}")
        if response.status_code >= 500 and self._silent_hosts():
            # It may be in a cell that is down; that one is silent in the coverage.
            return None
        if response.status_code == 404:
            rows = list(self._pages(f"{_DELETED}&uuid={uuid}"))
        else:
            with understood(NOVA_API):
                rows = [checked(NOVA_API, response)["server"]]
        # In a cell that is down: neither alive nor deleted.
        return next(iter(self._told(rows)), None)

    def _told(self, rows: Iterable[Document]) -> tuple[Instance, ...]:
        told = (row for row in rows if row.get("status") != UNKNOWN)
        return self._each(told, lambda row: documents.instance(row, TOLD.uuid))

    def _moves(self, uuids: frozenset[str], servers: Iterable[Instance]) -> tuple[Migration, ...]:
        """Moves of these servers; the API finds none by its own uuid, so of the rest in all."""
        known = frozenset(one.uuid for one in servers)
        if known == uuids and len(uuids) <= ROWS_IN_PAGE:
            return self.lookup(TOLD, (), uuids).migrations
        every = self._migrations()
        return tuple(one for one in every if one.uuid in uuids or one.instance in uuids)

    def _migrations(self, instance: str | None = None) -> tuple[Migration, ...]:
        chosen = f"instance_uuid={instance}" if instance else ""
        rows = self._pages(f"/os-migrations?{chosen}", "migrations", key="uuid")
        return self._each(rows, lambda row: documents.migration(row, TOLD.uuid))

    def _pages(
        self, path: str, name: str = "servers", key: str = "id", after: str = ""
    ) -> Iterator[Document]:
        """Rows page by page, until one has none."""
        while True:
            marker = f"&marker={after}" if after else ""
            answer = self._get(f"{path}&limit={ROWS_IN_PAGE}{marker}")
            with understood(NOVA_API):
                rows = answer[name]
                if not rows:
                    return
                after = rows[-1][key]
            yield from rows
            # Nova gives fewer than asked for where its own limit is lower, and then has a link.
            if f"{name}_links" not in answer:
                return

    def _parsed(
        self, answer: Mapping[str, Any], name: str, parse: Callable[[Document], Parsed]
    ) -> tuple[Parsed, ...]:
        with understood(NOVA_API):
            return tuple(map(parse, answer[name]))

    def _each(
        self, rows: Iterable[Document], parse: Callable[[Document], Parsed]
    ) -> tuple[Parsed, ...]:
        found = []
        for row in rows:
            with understood(NOVA_API):
                found.append(parse(row))
        return tuple(found)

    def _get(self, path: str) -> Any:
        return checked(NOVA_API, self._sent(path))

    def _sent(self, path: str) -> Any:
        return sent(NOVA_API, self._adapter, "GET", path, microversion=f"2.{self.newest_minor()}")


def _filters(wanted: InstanceFilter) -> list[str]:
    """What to add to a list of servers, once for each host in each project."""
    hosts = [""] if wanted.hosts is None else [f"&host={quote(one)}" for one in wanted.hosts]
    projects = (
        [""]
        if wanted.projects is None
        else [f"&project_id={quote(one)}" for one in wanted.projects]
    )
    return sorted(host + project for host in hosts for project in projects)
