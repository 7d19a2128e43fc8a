# SPDX-License-Identifier: Apache-2.0
"""Damage of each kind: found, repaired, and found no more."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from tests.deployment.schemas import rows_of
from trueup.placement.store import fsck, schema
from trueup.placement.store.engine.database import Database
from trueup.placement.store.fsck.broken_root import Place, circles, top_of
from trueup.placement.store.fsck.removal import in_portions
from trueup.placement.store.fsck.split_uuid import splits

NOBODY = fsck.Incomplete("nobody's project", "nobody")
DASHED = "5eb033fd-c550-420e-a31c-3ec2703a403c"
PLAIN = DASHED.replace("-", "")

# A healthy ledger: a tree of two providers, and a consumer that holds two processors of the root.
HEALTHY = f"""
INSERT INTO projects (external_id) VALUES ('project')
INSERT INTO users (external_id) VALUES ('user')
INSERT INTO resource_classes (id, name) VALUES (10000, 'CUSTOM_A')
INSERT INTO resource_classes (id, name) VALUES (10001, 'CUSTOM_B')
INSERT INTO traits (id, name) VALUES (1, 'CUSTOM_T')
INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'aggregate')
INSERT INTO resource_providers (id, uuid, name, generation) VALUES (1, 'root', 'root', 3)
UPDATE resource_providers SET root_provider_id = 1
INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id) \
VALUES (2, 'child', 'child', 0, 1, 1)
INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, \
max_unit, step_size, allocation_ratio) VALUES (1, 10000, 8, 0, 1, 8, 1, 1.0)
INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('{DASHED}', 1, 1, 1)
INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
VALUES (1, '{DASHED}', 10000, 2)
"""
HOLD = (
    "INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used) "
    "VALUES ({0}, {1}, '{2}', {3}, {4})"
).format
CONSUMER = (
    "INSERT INTO consumers (id, uuid, project_id, user_id, generation) "
    "VALUES ({0}, '{1}', {2}, {3}, 1)"
).format
STOCK = (
    "INSERT INTO inventories (id, resource_provider_id, resource_class_id, total, reserved, "
    "min_unit, max_unit, step_size, allocation_ratio) VALUES ({0}, {1}, {2}, 4, 0, 1, 4, 1, 1.0)"
).format
USAGE = "SELECT coalesce(sum(used), 0) FROM allocations WHERE resource_provider_id = 1"

Damage = Callable[..., Database]


@pytest.fixture
def damaged(database_url: str) -> Iterator[Damage]:
    """The healthy ledger, and on it these statements."""
    database = Database(database_url)

    def damage(*statements: str) -> Database:
        schema.create_tables(database)
        with database.engine.begin() as connection:
            for statement in (*HEALTHY.strip().splitlines(), *statements):
                connection.execute(text(statement))
        return database

    yield damage
    database.close()


def found(database: Database) -> list[tuple[str, str, bool]]:
    return [
        (finding.defect, finding.subject, finding.repairable) for finding in fsck.examine(database)
    ]


def value(database: Database, query: str) -> object:
    with database.engine.connect() as connection:
        return connection.execute(text(query)).scalar()


def check_repaired(database: Database) -> None:
    """All findings are repaired; a second repair finds and changes nothing."""
    usage = value(database, USAGE)
    assert fsck.repair(database, NOBODY).left == ()
    assert found(database) == []
    assert value(database, USAGE) == usage
    assert fsck.repair(database, NOBODY) == fsck.Repaired((), ())


def check_stays(database: Database, defect: str) -> None:
    """A repair leaves every row as it is."""
    url = database.engine.url.render_as_string(hide_password=False)
    before = rows_of(url)
    done = fsck.repair(database, NOBODY)
    assert done.mended == ()
    assert {finding.defect for finding in done.left} == {defect}
    assert rows_of(url) == before


def test_a_healthy_ledger_has_no_findings(damaged):
    database = damaged()
    assert found(database) == []
    assert fsck.repair(database, NOBODY) == fsck.Repaired((), ())


def test_a_consumer_without_a_row_gets_one_and_keeps_what_it_holds(damaged):
    database = damaged(HOLD(7, 1, "lost", 10000, 3))
    assert found(database) == [("ownerless_allocation", "consumer lost", True)]
    check_repaired(database)
    owner = (
        "SELECT projects.external_id FROM consumers JOIN projects ON projects.id = project_id "
        "WHERE uuid = 'lost'"
    )
    assert value(database, owner) == NOBODY.project_id


def test_consumers_that_hold_nothing_are_deleted(damaged):
    database = damaged(CONSUMER(9, "dead", 1, 1))
    assert found(database) == [("dead_consumer", "consumer dead", True)]
    check_repaired(database)
    assert value(database, "SELECT count(*) FROM consumers") == 1


@pytest.mark.parametrize("root", ["NULL", "2"])
def test_a_wrong_root_is_found_from_the_parents(damaged, root):
    database = damaged(f"UPDATE resource_providers SET root_provider_id = {root} WHERE id = 2")
    assert found(database) == [("broken_root", "provider child", True)]
    check_repaired(database)
    assert value(database, "SELECT root_provider_id FROM resource_providers WHERE id = 2") == 1
    assert value(database, "SELECT generation FROM resource_providers WHERE id = 2") == 0


def test_the_former_root_of_a_circle_becomes_its_root_again(damaged):
    """As two nodes of a cluster could do: a tree moved below itself, with its descendants."""
    insert = (
        "INSERT INTO resource_providers "
        "(id, uuid, name, generation, root_provider_id, parent_provider_id) VALUES "
    )
    database = damaged(
        f"{insert} (5, 'five', 'other', 0, 5, NULL)",
        f"{insert} (6, 'six', 'below', 0, 5, 5)",
        # Node one moved `child` below `below`, node two moved `other` below `child`.
        "UPDATE resource_providers SET parent_provider_id = 6, root_provider_id = 5 WHERE id = 2",
        "UPDATE resource_providers SET parent_provider_id = 2, root_provider_id = 1 WHERE id = 5",
        "UPDATE resource_providers SET root_provider_id = 1 WHERE id = 6",
    )
    assert found(database) == [
        ("broken_root", "provider five", True),
        ("broken_root", "provider six", True),
    ]
    check_repaired(database)
    places = "SELECT count(*) FROM resource_providers WHERE root_provider_id = 5"
    assert value(database, places) == 3
    assert value(database, "SELECT parent_provider_id FROM resource_providers WHERE id=5") is None


def test_two_providers_below_each_other_are_told_apart(damaged):
    database = damaged("UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1")
    assert found(database) == [("broken_root", "provider root", True)]
    check_repaired(database)
    assert value(database, "SELECT root_provider_id FROM resource_providers WHERE id = 2") == 1


def test_providers_in_a_circle_that_names_no_root_are_left_alone(damaged):
    database = damaged(
        "UPDATE resource_providers SET parent_provider_id = 2 WHERE id = 1",
        "UPDATE resource_providers SET root_provider_id = NULL",
    )
    assert found(database) == [
        ("broken_root", "provider root", False),
        ("broken_root", "provider child", False),
    ]
    check_stays(database, "broken_root")


def test_below_a_parent_that_is_gone_a_new_tree_begins(fresh_database):
    # Only SQLite lets such a row in.
    database = Database(fresh_database("sqlite"))
    schema.create_tables(database)
    insert = "INSERT INTO resource_providers (id, uuid, name, generation, {}) VALUES ({})"
    with database.engine.begin() as connection:
        columns = "root_provider_id, parent_provider_id"
        connection.execute(text(insert.format(columns, "5, 'five', 'five', 0, 4, 4")))
        connection.execute(text(insert.format(columns, "6, 'six', 'six', 0, 4, 5")))
    assert [finding.subject for finding in fsck.examine(database)] == [
        "provider five",
        "provider six",
    ]
    assert fsck.repair(database, NOBODY).left == ()
    assert fsck.examine(database) == ()
    assert value(database, "SELECT parent_provider_id FROM resource_providers WHERE id=5") is None
    assert value(database, "SELECT root_provider_id FROM resource_providers WHERE id=6") == 5
    database.close()


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        (STOCK(70, 99, 10000), "inventories row 70"),
        (
            "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) "
            "VALUES (99, 1)",
            "resource_provider_aggregates row 99/1",
        ),
        (
            "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) "
            "VALUES (1, 99)",
            "resource_provider_aggregates row 1/99",
        ),
        (STOCK(71, 2, 12345), "inventories row 71"),
    ],
)
def test_dangling_rows_are_deleted(damaged, statement, subject):
    database = damaged(statement)
    assert found(database) == [("dangling_row", subject, True)]
    check_repaired(database)


def test_allocations_of_a_deleted_provider_go_and_so_does_their_consumer(damaged):
    database = damaged(CONSUMER(5, "moved", 1, 1), HOLD(77, 99, "moved", 10000, 1))
    assert found(database) == [("dangling_row", "allocations row 77", True)]
    done = fsck.repair(database, NOBODY)
    assert [finding.defect for finding in done.mended] == ["dangling_row", "dead_consumer"]
    assert found(database) == []


def test_a_consumer_of_a_deleted_project_or_user_gets_the_incomplete_owner(damaged):
    database = damaged(CONSUMER(5, "poor", 98, 99), HOLD(77, 1, "poor", 10000, 1))
    assert found(database) == [("dangling_row", "consumers row 5", True)] * 2
    check_repaired(database)
    assert value(database, "SELECT user_id FROM consumers WHERE id = 5") == value(
        database, f"SELECT id FROM users WHERE external_id = '{NOBODY.user_id}'"
    )


def test_allocations_of_a_class_without_a_name_stay(damaged):
    database = damaged(STOCK(70, 1, 12345), HOLD(77, 1, DASHED, 12345, 1))
    assert found(database) == [
        ("dangling_row", "inventories row 70", False),
        ("dangling_row", "allocations row 77", False),
    ]
    check_stays(database, "dangling_row")


def test_standard_classes_are_known_before_the_service_has_started(damaged):
    assert found(damaged(STOCK(70, 2, 0))) == []


def test_allocations_without_an_inventory_stay(damaged):
    database = damaged(HOLD(77, 2, DASHED, 10001, 4))
    assert found(database) == [("allocation_without_inventory", "provider child", False)]
    assert "1 consumers hold 4 CUSTOM_B" in fsck.examine(database)[0].evidence
    check_stays(database, "allocation_without_inventory")


@pytest.mark.parametrize("row", [True, False])
def test_forms_of_one_uuid_are_merged_and_added_up(damaged, row):
    statements = [HOLD(77, 1, PLAIN, 10000, 3), HOLD(78, 1, PLAIN, 10000, 1)]
    database = damaged(*statements, *([CONSUMER(5, PLAIN, 1, 1)] if row else []))
    assert ("split_uuid", f"consumer {DASHED}", True) in found(database)
    check_repaired(database)
    mine = f"FROM allocations WHERE consumer_id = '{DASHED}'"
    assert value(database, f"SELECT count(*) {mine}") == 1
    assert value(database, f"SELECT used {mine}") == 6
    assert value(database, "SELECT count(*) FROM consumers") == 1
    assert value(database, "SELECT generation FROM consumers") == 2
    assert value(database, "SELECT generation FROM resource_providers WHERE id = 1") == 4


def test_rows_of_one_consumer_provider_and_class_are_added_up(damaged):
    """Requests show one of them, and count both."""
    database = damaged(HOLD(77, 1, DASHED, 10000, 3), HOLD(78, 2, DASHED, 10001, 1))
    assert ("repeated_allocation", f"consumer {DASHED}", True) in found(database)
    [finding, *_] = fsck.examine(database)
    assert finding.evidence == "has several rows for one provider and class, 1 times"
    fsck.repair(database, NOBODY)
    assert [finding[0] for finding in found(database)] == ["allocation_without_inventory"]
    mine = f"FROM allocations WHERE consumer_id = '{DASHED}' AND resource_provider_id = 1"
    assert value(database, f"SELECT count(*) {mine}") == 1
    assert value(database, f"SELECT used {mine}") == 5
    assert value(database, "SELECT generation FROM consumers") == 2
    assert value(database, "SELECT generation FROM resource_providers WHERE id = 1") == 4


def test_forms_that_belong_to_different_projects_stay(damaged):
    database = damaged(
        "INSERT INTO projects (external_id) VALUES ('other')",
        CONSUMER(5, PLAIN, 2, 1),
        HOLD(77, 1, PLAIN, 10000, 3),
    )
    assert found(database) == [("split_uuid", f"consumer {DASHED}", False)]
    check_stays(database, "split_uuid")


def test_providers_of_one_uuid_stay(damaged):
    insert = "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES "
    database = damaged(
        f"{insert} (11, '{DASHED}', 'a', 0, 1)",
        f"{insert} (12, '{PLAIN}', 'b', 0, 1)",
        "UPDATE resource_providers SET root_provider_id = id WHERE id > 10",
    )
    assert found(database) == [("split_uuid", f"provider {DASHED}", False)]
    check_stays(database, "split_uuid")


def test_a_repair_that_fails_changes_nothing(damaged, monkeypatch):
    database = damaged(CONSUMER(9, "dead", 1, 1), HOLD(7, 1, "lost", 10000, 3))
    url = database.engine.url.render_as_string(hide_password=False)
    before = rows_of(url)

    def fail(*_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(fsck.dead_consumer, "repair", fail)
    with pytest.raises(InterruptedError):
        fsck.repair(database, NOBODY)
    assert rows_of(url) == before


def test_the_top_of_a_tree_and_of_a_circle():
    places = {1: Place(1, "a", None, 1), 2: Place(2, "b", 1, 1), 3: Place(3, "c", 4, 1)}
    assert top_of(places[2], places) == places[1]
    assert top_of(places[3], places) == places[3]
    circle = {1: Place(1, "a", 2, 1), 2: Place(2, "b", 1, 1)}
    assert top_of(circle[1], circle) is None


def test_circles_are_found_once_and_without_what_is_below_them():
    parents = {1: 2, 2: 3, 3: 2, 4: 4, 5: None, 6: 5, 7: 99}
    places = {id_: Place(id_, str(id_), parent, None) for id_, parent in parents.items()}
    assert [[place.id for place in circle] for circle in circles(places)] == [[2, 3], [4]]


def test_only_uuids_have_forms():
    assert splits([DASHED, DASHED.upper(), PLAIN, "a-b", "ab"]) == splits(
        [PLAIN, DASHED.upper(), DASHED]
    )
    assert [split.canonical for split in splits([DASHED, PLAIN])] == [DASHED]
    assert splits([DASHED]) == splits(["a-b", "ab"]) == []


def test_long_lists_are_cut_into_portions():
    portions = list(in_portions(list(range(1201))))
    assert [len(portion) for portion in portions] == [500, 500, 201]
    assert portions[2][-1] == 1200
