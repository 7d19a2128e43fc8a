# SPDX-License-Identifier: Apache-2.0
"""Nova's databases: read wherever they are, and never written."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.clouds import damage
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.sources.database import Session
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.sources.nova import tables
from trueup.reconcile.sources.nova.cells import CellReading
from trueup.reconcile.sources.nova.databases import NovaDatabases

WRITES = (
    "DELETE FROM build_requests",
    "UPDATE build_requests SET instance_uuid = 'another'",
    "INSERT INTO build_requests (id, instance_uuid) VALUES (2, 'another')",
    "DROP TABLE build_requests",
    "CREATE TABLE more (id INTEGER)",
)


# The tables of Nova's API database that a registry is read of.
REGISTRY = (
    tables.build_requests, tables.host_mappings, tables.instance_mappings, tables.request_specs,
    tables.aggregates, tables.aggregate_hosts, tables.aggregate_metadata,
)  # fmt: skip
NUMBERS = ("id", "cell_id", "aggregate_id", "queued_for_delete")
A_BOOT = "00000000-1111-4111-8111-000000000000"
ONE_BUILD = f"INSERT INTO build_requests (id, instance_uuid) VALUES (1, '{A_BOOT}')"


def made() -> Iterator[sqlalchemy.schema.CreateTable]:
    """The statements that make these tables."""
    for table in REGISTRY:
        columns = (
            sqlalchemy.Column(
                one.name, sqlalchemy.Integer if one.name in NUMBERS else sqlalchemy.String(99)
            )
            for one in table.c
        )
        whole = sqlalchemy.Table(table.name, sqlalchemy.MetaData(), *columns)
        yield sqlalchemy.schema.CreateTable(whole)


def run(url: str, *statements: sqlalchemy.Executable) -> list[str]:
    """As somebody who may write: run statements, and say what build requests there are then."""
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)
        found = connection.execute(sqlalchemy.text("SELECT instance_uuid FROM build_requests"))
        return list(found.scalars())


@pytest.mark.parametrize("write", WRITES)
def test_invariant_12_a_session_cannot_write_whatever_its_account_may(
    database_url, write, monkeypatch
):
    """On SQLite, MariaDB and PostgreSQL: as if a query of ours were a write by mistake."""
    run(database_url, *made(), sqlalchemy.text(ONE_BUILD))
    nova = NovaDatabases(database_url, None)
    assert [row.instance for row in nova.registry([]).build_requests] == [A_BOOT]
    monkeypatch.setattr(
        Session, "rows", lambda session, _: session._connection.execute(sqlalchemy.text(write))
    )
    with pytest.raises(Unreachable) as refused:
        nova.registry([])
    assert re.search("read.?only", refused.value.reason, re.IGNORECASE)
    assert run(database_url) == [A_BOOT]


def map_cell(small, cell: str, **columns: object) -> None:
    named = ", ".join(f"{column} = ?" for column in columns)
    small.sql(
        "nova_api", f"UPDATE cell_mappings SET {named} WHERE name = ?", *columns.values(), cell
    )


def test_every_cell_that_is_mapped_is_read_also_a_disabled_one(small):
    map_cell(small, "cell2", disabled=1)
    cells = small.cloud.nova.cells()
    assert [cell.name for cell in cells] == ["cell0", "cell1", "cell2"]
    assert small.cloud.nova.contents(cells[2]).instances


def test_a_cell_without_a_name_goes_by_its_uuid(small):
    map_cell(small, "cell2", name=None)
    unnamed = small.cloud.nova.cells()[2]
    assert unnamed.name == unnamed.uuid


def test_a_sqlite_file_that_is_not_there_is_not_made(small):
    cell = small.cloud.nova.cells()[1]
    for name in ("nova_cell1", "nova_api"):
        (small.folder / f"{name}.sqlite").unlink()
    with pytest.raises(Unreachable) as silent:
        small.cloud.nova.contents(cell)
    assert silent.value.source == "cell1"
    with pytest.raises(Unreachable) as silent:
        small.cloud.nova.cells()
    assert silent.value.source == "Nova's API database"
    left = {path.name for path in small.folder.glob("nova_*.sqlite")}
    assert left == {"nova_cell0.sqlite", "nova_cell2.sqlite"}


def test_what_is_no_database_does_not_answer(small):
    (small.folder / "nova_cell1.sqlite").write_text("this is not a database, but long enough\n" * 9)
    with pytest.raises(Unreachable) as silent:
        small.cloud.nova.contents(small.cloud.nova.cells()[1])
    assert "not a database" in silent.value.reason
    assert "\n" not in silent.value.reason


@pytest.mark.parametrize(
    "url",
    [
        "",
        "not a url",
        "nosuch://host/nova",
        "mysql+nosuch://host/nova",
        "mysql+pymysql+pymysql://host/nova",
        "mysql+pymysql://host:port/nova",
    ],
)
def test_a_url_that_no_driver_can_open_is_refused_by_name(url):
    with pytest.raises(DatabaseUnusable) as refused:
        NovaDatabases(url, None)
    assert refused.value.source == "Nova's API database"
    assert refused.value.reason


def test_a_cell_whose_url_no_driver_can_open_is_refused_by_name(small):
    map_cell(small, "cell1", database_connection="nosuch://host/nova")
    with pytest.raises(DatabaseUnusable) as refused:
        small.cloud.nova.contents(small.cloud.nova.cells()[1])
    assert refused.value.source == "cell1"


MAIN = "mysql+pymysql://nova:s%40fe%2Fword@db.example:3307/nova_cell0?charset=utf8&ssl_ca=%2Fca"


@pytest.mark.parametrize(
    ("pattern", "main", "url"),
    [
        (
            "{scheme}://{username}:{password}@{hostname}:{port}/nova_cell1?{query}",
            MAIN,
            MAIN.replace("nova_cell0", "nova_cell1"),
        ),
        ("{scheme}://{username}:{password}@{hostname}:{port}/{path}?{query}", MAIN, MAIN),
        ("mysql://{username}@other/{path}", MAIN, "mysql://nova@other/nova_cell0"),
        ("{scheme}://u:p@h/{path}#{fragment}", f"{MAIN}#e", "mysql+pymysql://u:p@h/nova_cell0#e"),
        ("{scheme}:////{path}.cell", "sqlite:////var/nova.db", "sqlite:////var/nova.db.cell"),
        ("mysql://u:p@h/whole", MAIN, "mysql://u:p@h/whole"),
        ("{scheme}://without/main", None, "{scheme}://without/main"),
    ],
    ids=range(7),
)  # fmt: skip
def test_a_template_is_filled_from_the_main_url_as_nova_does(small, pattern, main, url):
    map_cell(small, "cell1", database_connection=pattern)
    nova = NovaDatabases(f"sqlite:///{small.folder / 'nova_api.sqlite'}", main)
    assert nova.cells()[1].url == url


@pytest.mark.parametrize(
    "pattern", ["{nosuch}://host/nova", "{scheme://host", "{0}://host/{1}"], ids=range(3)
)
def test_a_template_that_cannot_be_filled_is_refused_by_name(small, pattern):
    map_cell(small, "cell1", database_connection=pattern)
    nova = NovaDatabases(f"sqlite:///{small.folder / 'nova_api.sqlite'}", MAIN)
    with pytest.raises(DatabaseUnusable) as refused:
        nova.cells()
    assert refused.value.source == "cell1"
    assert refused.value.reason.startswith("its URL template")


def test_templates_lead_to_the_cells_of_a_real_cloud(recorded_cloud):
    cloud = recorded_cloud("healthy", "trueup")
    reported = from_nova_conf(cloud.nova_conf).nova
    expected = {cell.name: reported.contents(cell) for cell in reported.cells()}
    damage.map_cells_by_template(cloud)
    by_template = from_nova_conf(cloud.nova_conf).nova
    found = {cell.name: by_template.contents(cell) for cell in by_template.cells()}
    assert found == expected
    assert found["cell2"].instances


def test_a_cell_that_is_down_does_not_answer(recorded_cloud):
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    nova = from_nova_conf(cloud.nova_conf).nova
    with damage.unreachable_cell(cloud, "cell2"):
        down = nova.cells()[2]
        with pytest.raises(Unreachable) as silent:
            nova.contents(down)
        assert silent.value.source == "cell2"
        with pytest.raises(Unreachable):
            nova.lookup(down, ["some-uuid"])
        with pytest.raises(Unreachable):
            nova.instance_states(down.uuid, ["some-uuid"])
    assert nova.contents(nova.cells()[2]).instances
    damage.drop_cell(cloud, "cell2")
    with pytest.raises(Unreachable) as gone:
        nova.contents(nova.cells()[2])
    assert "Unknown database" in gone.value.reason


def test_named_rows_are_found_alive_or_deleted_and_many_at_once(small):
    cells = small.cloud.nova.cells()
    in_cell = small.sql("nova_cell1", "SELECT uuid, deleted FROM instances")
    asked = [row["uuid"] for row in in_cell] + [f"nobody-{number}" for number in range(1500)]
    found = small.cloud.nova.lookup(cells[1], asked).instances
    assert sorted(row.uuid for row in found) == sorted(row["uuid"] for row in in_cell)
    assert {row.deleted for row in found} == {True, False}
    assert small.cloud.nova.lookup(cells[1], []).rows == 0


def test_an_instance_without_a_root_device_is_volume_backed_if_its_image_is_none(small):
    cell = small.cloud.nova.cells()[1]
    plain = [row.uuid for row in small.cloud.nova.contents(cell).instances if not row.volume_backed]
    small.sql("nova_cell1", "DELETE FROM block_device_mapping")
    small.sql("nova_cell1", "UPDATE instances SET image_ref = '' WHERE uuid = ?", plain[0])
    small.sql("nova_cell1", "UPDATE instances SET image_ref = NULL WHERE uuid = ?", plain[1])
    now = {row.uuid: row.volume_backed for row in small.cloud.nova.contents(cell).instances}
    assert [now[uuid] for uuid in plain[:3]] == [True, True, False]


def test_how_many_rows_a_cell_gave_is_counted(small):
    contents = small.cloud.nova.contents(small.cloud.nova.cells()[1])
    parts = (
        contents.instances, contents.migrations, contents.compute_nodes, contents.services,
        contents.block_devices, contents.pci_devices,
    )  # fmt: skip
    assert contents.rows == sum(map(len, parts)) > 0


def test_states_are_those_of_instances_as_they_are_now(small):
    rows = small.sql(
        "nova_cell1", "SELECT uuid, host, vm_state FROM instances WHERE deleted = 0 LIMIT 2"
    )
    cell = small.cloud.nova.cells()[1].uuid
    fresh = from_nova_conf(small.nova_conf).nova
    found = fresh.instance_states(cell, [*(row["uuid"] for row in rows), "nobody"])
    states = {uuid: (one.host, one.vm_state, one.deleted) for uuid, one in found.items()}
    assert states == {row["uuid"]: (row["host"], row["vm_state"], False) for row in rows}
    assert fresh.instance_states("no-such-cell", list(found)) == {}


def test_a_path_with_odd_characters_is_opened(tmp_path: Path):
    folder = tmp_path / "100%41 of #1"
    folder.mkdir()
    url = sqlalchemy.URL.create("sqlite", database=str(folder / "nova.sqlite")).render_as_string()
    run(url, *made(), sqlalchemy.text(ONE_BUILD))
    [build] = NovaDatabases(url, None).registry([]).build_requests
    assert build.instance == A_BOOT


@pytest.mark.parametrize(("seconds", "up"), [(60, False), (180, True)])
def test_a_service_is_down_after_the_time_that_nova_conf_says(small, seconds, up):
    conf = small.nova_conf.read_text()
    small.nova_conf.write_text(f"[DEFAULT]\nservice_down_time = {seconds}\n{conf}")
    seen = datetime(2026, 11, 21, 12, 0)
    small.sql("nova_cell1", "UPDATE services SET last_seen_up = ?", str(seen))
    cloud = from_nova_conf(small.nova_conf)
    [cell1] = [cell for cell in cloud.nova.cells() if cell.name == "cell1"]
    [service, *_] = [row for row in cloud.nova.hosts(cell1).services if not row.forced_down]
    assert service.is_up(seen + timedelta(seconds=120)) is up


LOST = "its database is empty, though Nova maps {} to it: it may have been restored or recreated"


def emptied(small, *tables: str) -> NovaDatabases:
    """The small cloud's databases, after all rows of these tables of cell2 are gone."""
    for table in tables:
        small.sql("nova_cell2", f"DELETE FROM {table}")
    return small.cloud.nova


def mapped_to_cell2(small) -> tuple[int, int]:
    """How many hosts, and how many instances that are not to be deleted."""
    cell = "WHERE cell_id = (SELECT id FROM cell_mappings WHERE name = 'cell2')"
    queries = (
        f"SELECT id FROM host_mappings {cell}",
        f"SELECT id FROM instance_mappings {cell} AND queued_for_delete = 0",
    )
    hosts, instances = (len(small.sql("nova_api", query)) for query in queries)
    return hosts, instances


def answers(nova: NovaDatabases, name: str) -> list[str]:
    """Why a cell does not answer, asked for everything and for its hosts."""
    [cell] = [one for one in nova.cells() if one.name == name]
    silences = []
    for question in (nova.contents, nova.hosts):
        try:
            question(cell)
        except Unreachable as silence:
            silences.append(silence.reason)
    return silences


def test_a_cell_that_lost_all_its_rows_does_not_answer(small):
    hosts, instances = mapped_to_cell2(small)
    assert min(hosts, instances) > 1
    nova = emptied(small, "instances", "shadow_instances", "compute_nodes", "services")
    assert answers(nova, "cell2") == [LOST.format(f"{hosts} hosts and {instances} instances")] * 2
    small.sql("nova_api", "UPDATE instance_mappings SET queued_for_delete = 1")
    assert answers(nova, "cell2") == [LOST.format(f"{hosts} hosts")] * 2
    assert answers(nova, "cell1") == []


def test_a_cell_that_nothing_is_mapped_to_may_be_empty(small):
    nova = emptied(small, "instances", "shadow_instances", "compute_nodes", "services")
    small.sql("nova_api", "DELETE FROM host_mappings")
    small.sql("nova_api", "UPDATE instance_mappings SET queued_for_delete = NULL")
    assert answers(nova, "cell2") == []


@pytest.mark.parametrize("kept", ["instances", "compute_nodes"])
def test_a_cell_with_deleted_rows_is_not_empty(small, kept):
    small.sql("nova_cell2", f"UPDATE {kept} SET deleted = id")
    gone = {"instances", "shadow_instances", "compute_nodes", "services"} - {kept}
    if kept == "compute_nodes":
        small.sql("nova_api", "DELETE FROM instance_mappings")
    assert answers(emptied(small, *gone), "cell2") == []


@pytest.mark.parametrize("deleted", ["0", "id"])
def test_a_cell_with_hosts_that_lost_its_instances_does_not_answer(small, deleted):
    _, instances = mapped_to_cell2(small)
    small.sql("nova_cell2", f"UPDATE compute_nodes SET deleted = {deleted}")
    assert small.sql("nova_cell2", "SELECT id FROM shadow_instances")
    [words, again] = answers(emptied(small, "instances"), "cell2")
    assert words == again
    assert words.startswith(
        f"its table of instances is empty, though Nova maps {instances} instances to it that it "
        "did not archive: "
    )
    small.sql("nova_api", "UPDATE instance_mappings SET queued_for_delete = 1")
    assert answers(small.cloud.nova, "cell2") == []


def test_of_a_cell_with_hosts_all_instances_may_be_archived(small):
    [archived] = small.sql("nova_cell2", "SELECT uuid FROM shadow_instances")
    cell2 = "(SELECT id FROM cell_mappings WHERE name = 'cell2')"
    small.sql("nova_api", f"DELETE FROM instance_mappings WHERE cell_id = {cell2}")
    small.sql(
        "nova_api",
        "INSERT INTO instance_mappings (instance_uuid, cell_id, project_id, queued_for_delete)"
        f" VALUES (?, {cell2}, 'p', 0)",
        archived["uuid"],
    )
    assert answers(emptied(small, "instances"), "cell2") == []


def test_a_cell_whose_first_instance_is_made_meanwhile_answers(small, monkeypatch):
    """It is mapped after its row is made, and both after the table was found to be empty."""
    nova, rows = emptied(small, "shadow_instances"), CellReading.has_rows
    hidden = iter([True])
    monkeypatch.setattr(
        CellReading, "has_rows",
        lambda reading, *asked: not next(hidden, False) and rows(reading, *asked),
    )  # fmt: skip
    [cell] = [one for one in nova.cells() if one.name == "cell2"]
    assert nova.hosts(cell).compute_nodes


def test_a_new_cell_of_bare_metal_has_services_before_it_has_nodes(small):
    """`nova-manage cell_v2 discover_hosts --by-service` maps them."""
    nova = emptied(small, "instances", "shadow_instances", "compute_nodes")
    hosts, instances = mapped_to_cell2(small)
    assert answers(nova, "cell2") == [LOST.format(f"{hosts} hosts and {instances} instances")] * 2
    small.sql("nova_api", "DELETE FROM instance_mappings")
    assert answers(nova, "cell2") == []


def test_of_a_cell_without_hosts_all_instances_may_be_archived(small):
    nova = emptied(small, "instances", "compute_nodes", "services")
    hosts, instances = mapped_to_cell2(small)
    assert small.sql("nova_cell2", "SELECT id FROM shadow_instances")
    assert answers(nova, "cell2") == [LOST.format(f"{hosts} hosts and {instances} instances")] * 2
    small.sql("nova_api", "DELETE FROM host_mappings")
    assert answers(nova, "cell2") == []
    emptied(small, "shadow_instances")
    assert answers(nova, "cell2") == [LOST.format(f"{instances} instances")] * 2
