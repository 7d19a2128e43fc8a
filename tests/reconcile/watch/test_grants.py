# SPDX-License-Identifier: Apache-2.0
"""The grants of packaging/watch, tried on a real MariaDB and a real PostgreSQL."""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.cli.running import trueup
from tests.clouds.cloud import RecordedCloud
from tests.clouds.copying import copied
from tests.servers.databases import DatabaseServer, as_text
from tests.servers.postgresql import psql
from tests.tree import REPOSITORY
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.databases import CellOptions, NovaDatabases
from trueup.reconcile.sources.placement.database import PlacementDatabase

FOLDER = REPOSITORY / "packaging" / "watch"
A_CONSUMER = "5eb033fd-1111-4222-8333-444455556667"
PART = re.compile(r"-- a cell\n(.*?)-- end of a cell\n", re.DOTALL)


@dataclass(frozen=True)
class Site:
    """The URLs of a cloud's databases, for an account with the grants of the file."""

    nova_api: str
    cells: Mapping[str, str]
    placement: str


def mariadb_statements(databases: Mapping[str, str], user: str) -> Iterator[str]:
    """The statements of the file, for databases of other names and several cells."""
    text = (FOLDER / "grants-mariadb.sql").read_text()
    [part] = PART.findall(text)
    cells = [name for key, name in databases.items() if key.startswith("cell")]
    every = "".join(part.replace("nova_cell0.", f"`{name}`.") for name in cells)
    text = PART.sub(lambda _: every, text).replace("'trueup'@", f"'{user}'@")
    for name in ("nova_api", "placement"):
        text = text.replace(f" {name}.", f" `{databases[name]}`.")
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    yield from (one.strip() for one in "\n".join(lines).split(";") if one.strip())


def postgresql_script(databases: Mapping[str, str], user: str) -> str:
    """The same for psql, which connects to one database after the other."""
    text = (FOLDER / "grants-postgresql.sql").read_text()
    [part] = PART.findall(text)
    cells = [name for key, name in databases.items() if key.startswith("cell")]
    every = "".join(part.replace("nova_cell0", name) for name in cells)
    text = PART.sub(lambda _: every, text)
    for name in ("nova_api", "placement"):
        text = text.replace(f"\\connect {name}\n", f"\\connect {databases[name]}\n")
    return re.sub(r"\btrueup( LOGIN|;)", rf"{user}\1", text)


@pytest.fixture
def user() -> str:
    return f"reader_{secrets.token_hex(4)}"


def urls_of(cloud: RecordedCloud) -> Mapping[str, str]:
    return {
        "nova_api": cloud.nova_api_url,
        "placement": cloud.placement_database_url,
        **cloud.cell_urls,
    }


@pytest.fixture
def on_mariadb(recorded_cloud, mariadb_server: DatabaseServer, user) -> Iterator[Site]:
    urls = urls_of(recorded_cloud("missing-and-wrong", "upstream"))
    for statement in mariadb_statements(named(urls), user):
        mariadb_server.execute(statement)
    yield site_of(urls, user)
    mariadb_server.execute(f"DROP USER '{user}'@'%'")


@pytest.fixture
def on_postgresql(recorded_cloud, postgresql_server: DatabaseServer, user) -> Iterator[Site]:
    cloud = recorded_cloud("missing-and-wrong", "upstream")
    with copied(cloud, postgresql_server) as urls:
        psql(postgresql_server, postgresql_script(named(urls), user))
        yield site_of(urls, user)
    postgresql_server.execute(f'DROP ROLE "{user}"')


@pytest.fixture(params=["mariadb", "postgresql"])
def site(request) -> Site:
    return request.getfixturevalue(f"on_{request.param}")


def named(urls: Mapping[str, str]) -> Mapping[str, str]:
    """The names of the databases."""
    return {key: str(make_url(url).database) for key, url in urls.items()}


def site_of(urls: Mapping[str, str], user: str) -> Site:
    theirs = {
        key: as_text(make_url(url).set(username=user, password="a-password"))
        for key, url in urls.items()
    }
    return Site(theirs.pop("nova_api"), placement=theirs.pop("placement"), cells=theirs)


def options(site: Site, folder: Path) -> list[str]:
    """As docs/watch.md says. No service is asked for anything, so Placement's need not answer."""
    path = folder / "nova.conf"
    path.write_text(
        f"[api_database]\nconnection = {site.nova_api}\n"
        "[placement]\nauth_type = none\nendpoint = http://127.0.0.1:1\n"
    )
    cells = [word for one in site.cells.items() for word in ("--cell-database", "=".join(one))]
    return ["--nova-conf", str(path), "--placement-database", site.placement, *cells]


def test_with_these_grants_everything_is_read(site, monkeypatch, tmp_path):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path))
    reading = options(site, tmp_path)
    ran = trueup("audit", *reading, "-f", "json")
    assert ran.code == 3, ran.err
    document = ran.json()
    assert {row["source"]: row["answered"] for row in document["coverage"]} == dict.fromkeys(
        ("Placement", "Nova's API database", "cell0", "cell1", "cell2"), True
    )
    assert [row["unsupported"] for row in document["coverage"]] == [[]] * 5
    assert len(document["findings"]) == 4
    watched = trueup("watch", "--rounds", 1, "--listen", "127.0.0.1:0", *reading, "-f", "json")
    assert watched.code == 3
    assert watched.json()[0]["Findings"] == len(document["findings"])


REFUSED = [
    ("nova_api", "DELETE FROM host_mappings"),
    ("nova_api", "UPDATE cell_mappings SET name = 'other'"),
    ("nova_api", "SELECT transport_url FROM cell_mappings"),
    ("cell1", "UPDATE instances SET host = 'elsewhere'"),
    ("cell1", "SELECT * FROM instance_metadata"),
    ("placement", "DELETE FROM allocations"),
    ("placement", "CREATE TABLE more (id INTEGER)"),
]
# MariaDB's numbers for a command that an account may not give for a table, or for a column.
REFUSALS = r"114[23]|permission denied for (table|schema)"


def test_with_these_grants_nothing_is_written_and_nothing_else_is_read(site):
    for database, statement in REFUSED:
        url = {"nova_api": site.nova_api, "placement": site.placement, **site.cells}[database]
        engine = sqlalchemy.create_engine(url, poolclass=NullPool)
        with engine.connect() as connection:
            refused = pytest.raises(sqlalchemy.exc.DBAPIError, match=REFUSALS)
            with refused:
                connection.execute(sqlalchemy.text(statement))


def test_a_column_without_a_grant_is_told_and_not_taken_for_one_of_a_later_release(
    on_mariadb, mariadb_server, tmp_path, monkeypatch
):
    """Without `disabled`, a cell that was taken out of service would look like one in service."""
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path))
    url = make_url(on_mariadb.nova_api)
    mariadb_server.execute(
        f"REVOKE SELECT (disabled) ON `{url.database}`.cell_mappings FROM '{url.username}'@'%'"
    )
    ran = trueup("audit", *options(on_mariadb, tmp_path))
    assert ran.code == 5
    assert "SELECT command denied" in ran.err + ran.out


def revoked(text: str, account: str) -> Iterator[tuple[str, str, str]]:
    """Each grant on a table: the table, what revokes it, and what grants it again."""
    for grant in re.findall(rf"GRANT SELECT .*?ON \S+ TO {account}", text):
        table = grant.split(" ON ")[1].split()[0]
        yield table, f"REVOKE{grant[5:]}".replace(f" TO {account}", f" FROM {account}"), grant


def read(source: str, site: Site) -> None:
    """Read this source whole. Raises Unreachable."""
    cells = CellOptions(dict(site.cells))
    nova, placement = NovaDatabases(site.nova_api, None, cells), PlacementDatabase(site.placement)
    try:
        if source == "placement":
            placement.ledger()
            return
        mapped = {cell.name: cell for cell in nova.cells()}
        if source == "nova_api":
            nova.registry(mapped.values())
            return
        nova.contents(mapped[source])
        nova.lookup(mapped[source], [A_CONSUMER], [A_CONSUMER])
    finally:
        nova.close()
        placement.close()


SOURCES = ("nova_api", "placement", "cell1")


def without_each(
    grants: Mapping[str, str], site: Site, account: str, execute: Callable[[str, str], None]
) -> Iterator[str]:
    """Read each source without the grant of each of its tables; the tables that were hidden."""
    for source in SOURCES:
        read(source, site)
        for table, revoke, grant in revoked(grants[source], account):
            execute(source, revoke)
            with pytest.raises(Unreachable):
                read(source, site)
            execute(source, grant)
            yield table


def test_every_table_without_its_grant_silences_its_source_on_mariadb(
    on_mariadb, mariadb_server, user
):
    urls = (on_mariadb.nova_api, on_mariadb.placement, on_mariadb.cells["cell1"])
    databases = named(dict(zip(SOURCES, urls, strict=True)))
    statements = list(mariadb_statements(databases, user))
    grants = {
        source: ";".join(one for one in statements if f"`{name}`." in one)
        for source, name in databases.items()
    }
    account = f"'{user}'@'%'"
    hidden = list(
        without_each(grants, on_mariadb, account, lambda _, text: mariadb_server.execute(text))
    )
    assert len(hidden) == 30


def test_every_table_without_its_grant_silences_its_source_on_postgresql(
    on_postgresql, postgresql_server, user
):
    site = on_postgresql
    urls = dict(zip(SOURCES, (site.nova_api, site.placement, site.cells["cell1"]), strict=True))
    script = postgresql_script(named(urls), user)
    parts = {
        source: script.split(f"\\connect {name}\n")[1].split("\\connect ")[0]
        for source, name in named(urls).items()
    }

    def execute(source: str, statement: str) -> None:
        database = make_url(urls[source]).database
        url = postgresql_server.url.set(database=database)
        engine = sqlalchemy.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sqlalchemy.text(statement))

    assert len(list(without_each(parts, site, user, execute))) == 30


def test_a_table_without_its_grant_gives_no_finding_and_no_step(
    on_mariadb, mariadb_server, user, tmp_path, monkeypatch
):
    """MariaDB hides it. Its rows once counted as none: every host left its aggregates."""
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path))
    name = make_url(on_mariadb.nova_api).database
    mariadb_server.execute(f"REVOKE SELECT ON `{name}`.aggregate_hosts FROM '{user}'@'%'")
    ran = trueup("audit", *options(on_mariadb, tmp_path), "-f", "json")
    assert (ran.code, ran.out) == (5, "")
    assert "no such table: aggregate_hosts" in ran.err
