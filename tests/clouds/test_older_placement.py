# SPDX-License-Identifier: Apache-2.0
"""Releases of Placement since Stein: their APIs are repaired, their databases read and served."""

import pytest
import requests
import sqlalchemy

from tests.cli.running import ROWS, trueup
from tests.servers import upstream
from tests.servers.older import NEWEST
from tests.servers.placement import placement_server
from trueup.placement.store import migrations
from trueup.placement.store.engine.database import Database
from trueup.reconcile.facts import Owner
from trueup.reconcile.sources.placement.database import PlacementDatabase

# Newest point release of each series → the revision of its tables. Later ones have the last.
REVISIONS = {
    "1.1.0": "b4ed3a175331",
    "2.0.1": "b5c396305c25",
    "3.0.1": "b5c396305c25",
    "4.0.0": "b5c396305c25",
    "5.0.1": "b5c396305c25",
    "6.0.0": "422ece571366",
    "7.0.0": "422ece571366",
    "8.0.0": "422ece571366",
    "9.0.0": "422ece571366",
    "10.0.1": "a082b8bb98d0",
}
PROVIDER, CONSUMER = (f"5eb033fd-1111-4222-8333-44445555666{n}" for n in range(2))
ROWS_OF_AN_OLD_LEDGER = (
    f"INSERT INTO resource_providers (id, uuid, name, root_provider_id, generation)"
    f" VALUES (1, '{PROVIDER}', 'h1', 1, 3)",
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved,"
    " min_unit, max_unit, step_size, allocation_ratio) VALUES (1, 0, 8, 0, 1, 8, 1, 4.0)",
    "INSERT INTO projects (id, external_id) VALUES (1, 'p')",
    "INSERT INTO users (id, external_id) VALUES (1, 'u')",
    f"INSERT INTO consumers (id, uuid, project_id, user_id, generation)"
    f" VALUES (1, '{CONSUMER}', 1, 1, 1)",
    f"INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
    f" VALUES (1, '{CONSUMER}', 0, 2)",
)


@pytest.fixture(params=sorted(set(REVISIONS.values())))
def old_ledger(request, fresh_database):
    """A database at a revision: a provider, and a consumer that holds some of it."""
    url = fresh_database("mariadb")
    upstream.upgrade(url, request.param)
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        # Placement's class VCPU has the id 0.
        connection.exec_driver_sql("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        connection.exec_driver_sql("INSERT INTO resource_classes (id, name) VALUES (0, 'VCPU')")
        for statement in ROWS_OF_AN_OLD_LEDGER:
            connection.exec_driver_sql(statement)
    engine.dispose()
    return url


def test_the_database_of_each_release_is_read(old_ledger):
    source = PlacementDatabase(old_ledger)
    ledger = source.ledger()
    source.close()
    assert ledger.consumers == {CONSUMER: {PROVIDER: {"VCPU": 2}}}
    assert ledger.owners == {CONSUMER: Owner("p", "u")}
    assert ledger.providers[PROVIDER].inventories["VCPU"].total == 8
    assert ledger.faults == ()


def test_the_database_of_each_release_is_upgraded_and_served(old_ledger):
    database = Database(old_ledger)
    migrations.upgrade(database)
    database.close()
    with placement_server("trueup", old_ledger) as server:
        headers = {"x-auth-token": "admin", "openstack-api-version": "placement 1.39"}
        found = requests.get(f"{server.url}/allocations/{CONSUMER}", headers=headers, timeout=30)
        answer = found.json()
        assert answer["allocations"] == {
            PROVIDER: {"resources": {"VCPU": 2}, "generation": 3},
        }
        assert (answer["project_id"], answer["user_id"]) == ("p", "u")
        query = f"{server.url}/allocation_candidates?resources=VCPU:1"
        candidates = requests.get(query, headers=headers, timeout=30).json()
        assert list(candidates["provider_summaries"]) == [PROVIDER]


@pytest.mark.parametrize("release", ["stein", "train", "xena"])
def test_drift_is_repaired_over_the_api_of_each_release(
    recorded_cloud, release, tmp_path, monkeypatch
):
    monkeypatch.setenv("TRUEUP_STATE_DIR", str(tmp_path / "state"))
    conf = recorded_cloud("missing-and-wrong", f"tests.servers.older:{release}").nova_conf
    before = trueup("audit", "--nova-conf", conf, *ROWS)
    assert before.code == 3, before.err
    file = tmp_path / "plan.json"
    planned = trueup("plan", "--nova-conf", conf, "--interval", "0.01", "--out", file)
    assert planned.code == 3, planned.err
    applied = trueup("apply", "--nova-conf", conf, file)
    assert applied.code == 0, applied.err
    assert trueup("audit", "--nova-conf", conf).code == 0
    [run] = [row["Run"] for row in trueup("journal", "-f", "json").json()]
    undone = trueup("undo", "--nova-conf", conf, run)
    assert undone.code == 0, undone.err
    again = trueup("audit", "--nova-conf", conf, *ROWS)
    assert [row["Subject"] for row in again.json()] == [row["Subject"] for row in before.json()]


def test_every_release_has_a_row_in_both_tables():
    releases = {release for several in NEWEST.values() for release in several}
    assert releases <= set(REVISIONS)
