# SPDX-License-Identifier: Apache-2.0
"""Nova from its own databases: the API database, and every cell it maps. Read-only."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from sqlalchemy import Connection, Engine, RowMapping, Select, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.event import listens_for
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from trueup.reconcile.cloud import nova_rows, nova_tables
from trueup.reconcile.cloud.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.facts import ComputeNode, ComputeService, Instance, Migration
from trueup.reconcile.steps import InstanceMark, mark

# A cell that does not answer within this many seconds is down for this run.
CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 60
BATCH_ROWS = 2000
# SQLite takes at most 999 parameters in older builds.
UUIDS_IN_QUERY = 500

Fetched = TypeVar("Fetched")

# What a site's URL names → the driver that comes with the extras.
_DRIVERS = {"mysql": "mysql+pymysql", "postgresql": "postgresql+psycopg"}
_CONNECT_ARGUMENTS: Mapping[str, Mapping[str, int]] = {
    "pymysql": {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "read_timeout": READ_TIMEOUT_SECONDS},
    "psycopg": {"connect_timeout": CONNECT_TIMEOUT_SECONDS},
    "psycopg2": {"connect_timeout": CONNECT_TIMEOUT_SECONDS},
}
# SAFETY: what makes a session unable to write, whatever its account may do.
_READ_ONLY = {
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}
# The weakest isolation level under which all queries of a transaction see the same moment.
_ONE_PICTURE = {"mysql": "REPEATABLE READ", "postgresql": "REPEATABLE READ"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of `cell_mappings`."""

    uuid: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class CellContents:
    """What one cell says, of all instances that are not deleted."""

    instances: tuple[Instance, ...]
    migrations: tuple[Migration, ...]
    compute_nodes: tuple[ComputeNode, ...]
    services: tuple[ComputeService, ...]

    @property
    def rows(self) -> int:
        parts: Sequence[Sequence[object]] = (
            self.instances,
            self.migrations,
            self.compute_nodes,
            self.services,
        )
        return sum(len(part) for part in parts)


class NovaDatabases:
    """Nova's databases. Every method raises Unreachable when the database it asks does not answer.

    `main_url` is nova.conf's [database]connection, of which templates in cell mappings are made.
    """

    def __init__(self, api_url: str, main_url: str | None) -> None:
        self._api_url = api_url
        self._main_url = main_url
        self._cells: dict[str, Cell] = {}
        self._engines: dict[str, Engine] = {}
        # What is no URL, or has no driver, is said before anything is asked.
        self._engine("Nova's API database", api_url)

    def cells(self) -> tuple[Cell, ...]:
        """Every cell that is mapped, also cell0 and disabled ones."""

        def fetch(connection: Connection) -> tuple[Cell, ...]:
            rows = connection.execute(nova_tables.CELLS).mappings().all()
            return tuple(
                Cell(row["uuid"], row["name"] or row["uuid"], self._filled(row)) for row in rows
            )

        cells = self._ask("Nova's API database", self._api_url, fetch)
        self._cells = {cell.uuid: cell for cell in cells}
        return cells

    def builds(self) -> frozenset[str]:
        """The instances that have a build request."""

        def fetch(connection: Connection) -> frozenset[str]:
            return frozenset(connection.execute(nova_tables.BUILDS).scalars())

        return self._ask("Nova's API database", self._api_url, fetch)

    def contents(self, cell: Cell) -> CellContents:
        """All that is not deleted in a cell, as of one transaction."""

        def fetch(connection: Connection) -> CellContents:
            devices = {
                row.instance_uuid: row.destination_type
                for row in connection.execute(nova_tables.ROOT_DEVICES)
            }
            images: dict[str, dict[str, str]] = {}
            for row in connection.execute(nova_tables.IMAGE_PROPERTIES):
                images.setdefault(row.instance_uuid, {})[row.key] = row.value
            return CellContents(
                instances=tuple(
                    nova_rows.instance(
                        row, cell.uuid, _volume_backed(row, devices), images.get(row["uuid"], {})
                    )
                    for row in _alive(connection)
                ),
                migrations=tuple(
                    nova_rows.migration(row, cell.uuid)
                    for row in _rows(connection, nova_tables.MIGRATIONS)
                ),
                compute_nodes=tuple(
                    nova_rows.compute_node(row, cell.uuid)
                    for row in _rows(connection, nova_tables.COMPUTE_NODES)
                ),
                services=tuple(
                    nova_rows.compute_service(row, cell.uuid)
                    for row in _rows(connection, nova_tables.COMPUTE_SERVICES)
                ),
            )

        return self._ask(cell.name, cell.url, fetch)

    def named(self, cell: Cell, uuids: Iterable[str]) -> tuple[Instance, ...]:
        """The rows of these instances in a cell, alive or deleted."""
        wanted = sorted(uuids)

        def fetch(connection: Connection) -> tuple[Instance, ...]:
            batches = (
                wanted[start : start + UUIDS_IN_QUERY]
                for start in range(0, len(wanted), UUIDS_IN_QUERY)
            )
            return tuple(
                nova_rows.instance(row, cell.uuid, volume_backed=False, image={})
                for batch in batches
                for row in _rows(connection, nova_tables.named(batch))
            )

        return self._ask(cell.name, cell.url, fetch)

    def mark(self, cell: str, uuid: str) -> InstanceMark | None:
        """The mark of an instance as it is now in the cell with this uuid; None: no row."""
        if cell not in self._cells:
            self.cells()
        if cell not in self._cells:
            return None

        def fetch(connection: Connection) -> InstanceMark | None:
            rows = _rows(connection, nova_tables.named([uuid]))
            if not rows:
                return None
            row = nova_rows.instance(rows[0], cell, volume_backed=False, image={})
            return mark(row, moving=bool(_rows(connection, nova_tables.moving(uuid))))

        return self._ask(self._cells[cell].name, self._cells[cell].url, fetch)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.dispose()

    def _ask(self, source: str, url: str, fetch: Callable[[Connection], Fetched]) -> Fetched:
        try:
            with self._engine(source, url).connect() as connection:
                return fetch(connection)
        except SQLAlchemyError as error:
            raise Unreachable(source, _first_line(error)) from error

    def _engine(self, source: str, url: str) -> Engine:
        if url not in self._engines:
            try:
                self._engines[url] = _read_only_engine(_url(url, source))
            except (ImportError, NoSuchModuleError, ArgumentError) as error:
                raise DatabaseUnusable(source, str(error)) from error
        return self._engines[url]

    def _filled(self, row: RowMapping) -> str:
        """A cell's URL; a template is filled from the main URL, as Nova does."""
        template = str(row["database_connection"] or "")
        if "{" not in template or self._main_url is None:
            return template
        # Taken apart as text: what is escaped in the main URL stays so.
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
            raise DatabaseUnusable(str(row["name"]), f"its URL template: {error}") from error


def _url(text: str, source: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise DatabaseUnusable(source, "its connection is not a database URL") from error
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _read_only_engine(url: URL) -> Engine:
    """An engine whose sessions see one picture and cannot write."""
    if url.get_backend_name() == "sqlite":
        # Opened by URI, since a plain path would create a file that is not there.
        path = quote(url.database or "")
        url = url.set(database=f"file:{path}", query={"mode": "rw", "uri": "true"})
    engine = create_engine(
        url,
        poolclass=NullPool,
        connect_args=dict(_CONNECT_ARGUMENTS.get(url.get_driver_name(), {})),
        isolation_level=_ONE_PICTURE.get(url.get_backend_name(), "SERIALIZABLE"),
    )
    statement = _READ_ONLY[engine.dialect.name]

    @listens_for(engine, "connect")
    def forbid_writes(connection: Any, _record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        # In PostgreSQL even what is set for a session is undone with the transaction it was set in.
        connection.commit()

    return engine


def _alive(connection: Connection) -> Iterator[RowMapping]:
    """Instances in batches, so that neither side holds a long result."""
    last = 0
    while rows := _rows(connection, nova_tables.alive_after(last, BATCH_ROWS)):
        yield from rows
        last = rows[-1]["id"]


def _rows(connection: Connection, query: Select[Any]) -> Sequence[RowMapping]:
    return connection.execute(query).mappings().all()


def _volume_backed(row: RowMapping, devices: Mapping[str, str]) -> bool:
    """As Nova tells it: by the root device, without one by an empty image (nova-facts)."""
    if row["uuid"] in devices:
        return devices[row["uuid"]] == "volume"
    return not row["image_ref"]


def _first_line(error: SQLAlchemyError) -> str:
    reason = error.orig if hasattr(error, "orig") and error.orig else error
    return str(reason).splitlines()[0] if str(reason) else type(error).__name__
