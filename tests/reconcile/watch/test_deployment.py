# SPDX-License-Identifier: Apache-2.0
"""The files of packaging/watch: grants tried on a real MariaDB, and commands that are accepted."""

import re
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy
import yaml
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from tests.cli.running import trueup
from tests.servers.databases import DatabaseServer, as_text
from tests.tree import REPOSITORY
from trueup.cli.watch import WatchCommand

FOLDER = REPOSITORY / "packaging" / "watch"
ACCOUNT = "'trueup'@'%'"
PART = re.compile(r"-- a cell\n(.*?)-- end of a cell\n", re.DOTALL)


@dataclass(frozen=True)
class Site:
    """The URLs of a cloud's databases, for an account with the grants of the file."""

    nova_api: str
    cells: Mapping[str, str]
    placement: str


def statements(databases: Mapping[str, str], cells: list[str], account: str) -> Iterator[str]:
    """The statements of the file, for databases of other names and several cells."""
    text = (FOLDER / "grants-mariadb.sql").read_text()
    [part] = PART.findall(text)
    every = "".join(part.replace("nova_cell0.", f"`{name}`.") for name in cells)
    text = PART.sub(lambda _: every, text).replace(ACCOUNT, account)
    for name, database in databases.items():
        text = text.replace(f" {name}.", f" `{database}`.")
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    yield from (one.strip() for one in "\n".join(lines).split(";") if one.strip())


@pytest.fixture
def site(recorded_cloud, mariadb_server: DatabaseServer) -> Iterator[Site]:
    cloud = recorded_cloud("missing-and-wrong", "upstream")
    user = f"reader_{secrets.token_hex(4)}"

    def name(url: str) -> str:
        return str(make_url(url).database)

    databases = {
        "nova_api": name(cloud.nova_api_url),
        "placement": name(cloud.placement_database_url),
    }
    cells = [name(url) for url in cloud.cell_urls.values()]
    for statement in statements(databases, cells, f"'{user}'@'%'"):
        mariadb_server.execute(statement)

    def theirs(url: str) -> str:
        return as_text(make_url(url).set(username=user, password="a-password"))

    yield Site(
        theirs(cloud.nova_api_url),
        {cell: theirs(url) for cell, url in cloud.cell_urls.items()},
        theirs(cloud.placement_database_url),
    )
    mariadb_server.execute(f"DROP USER '{user}'@'%'")


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
    watched = trueup("watch", "--rounds", 1, "--listen", "127.0.0.1:0", *reading, "-f", "json")
    assert watched.code == 3
    assert watched.json()[0]["Findings"] == len(document["findings"])


@pytest.mark.parametrize(
    ("database", "statement"),
    [
        ("nova_api", "DELETE FROM host_mappings"),
        ("nova_api", "UPDATE cell_mappings SET disabled = 1"),
        ("cell1", "UPDATE instances SET host = 'elsewhere'"),
        ("cell1", "SELECT * FROM key_pairs"),
        ("placement", "DELETE FROM allocations"),
        ("placement", "CREATE TABLE more (id INTEGER)"),
    ],
)
def test_with_these_grants_nothing_is_written_and_no_other_table_is_read(site, database, statement):
    url = {"nova_api": site.nova_api, "placement": site.placement, **site.cells}[database]
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    # MariaDB's number for a command that an account may not give for a table.
    with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError, match="1142"):
        connection.execute(sqlalchemy.text(statement))


def commands() -> Iterator[tuple[str, list[str]]]:
    """The command line of each example."""
    unit = (FOLDER / "trueup-watch.service").read_text()
    [line] = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    yield "trueup-watch.service", shlex.split(line)
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        spec = document["spec"]
        spec = spec["jobTemplate"]["spec"] if document["kind"] == "CronJob" else spec
        [container] = spec["template"]["spec"]["containers"]
        yield path.name, container["command"]


@pytest.mark.parametrize(
    ("name", "words"), list(commands()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_the_commands_of_the_examples_are_accepted(name, words):
    program, verb, *rest = words
    assert (program.rpartition("/")[2], verb) == ("trueup", "watch")
    parsed = WatchCommand(None, None).get_parser("trueup watch").parse_args(rest)
    assert str(parsed.state_dir) == "/var/lib/trueup"


def test_the_probes_ask_what_is_served():
    document = yaml.safe_load((FOLDER / "kubernetes-deployment.yaml").read_text())
    [container] = document["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("readiness", "liveness")]
    assert probes == ["/readyz", "/livez"]
    assert document["spec"]["replicas"] == 1
