# SPDX-License-Identifier: Apache-2.0
"""The columns that Nova's tables share, and the objects that it keeps in them as JSON."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Column, Connection, MetaData, Table, create_engine, insert, select
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from trueup.lab.blueprint import Blueprint, Instance, LifecycleState
from trueup.lab.flavors import FLAVORS
from trueup.lab.nova import columns, objects
from trueup.reconcile.sources.nova.instance_rows import parse_flavors

TINY, SMALL = FLAVORS[0], FLAVORS[1]


def table(*some: Column[Any]) -> Table:
    return Table("some", MetaData(), columns.identity(), *some)


@pytest.fixture
def connection() -> Iterator[Connection]:
    with create_engine("sqlite://").connect() as connection:
        yield connection


def test_a_new_row_is_not_deleted(connection: Connection) -> None:
    some = table(*columns.written_and_deleted(), columns.flag("hidden"))
    some.create(connection)
    connection.execute(insert(some).values(created_at=datetime(2026, 1, 2), hidden=True))
    row = connection.execute(select(some)).mappings().one()
    assert dict(row) == {
        "id": 1,
        "created_at": datetime(2026, 1, 2),
        "updated_at": None,
        "deleted_at": None,
        "deleted": 0,
        "hidden": True,
    }


def test_the_api_database_has_no_soft_deletion() -> None:
    assert [column.name for column in columns.written()] == ["created_at", "updated_at"]


@pytest.mark.parametrize(
    "required", [columns.required_string("one"), columns.required_integer("one")]
)
def test_required_columns_refuse_null(connection: Connection, required: Column[Any]) -> None:
    some = table(required)
    some.create(connection)
    with pytest.raises(IntegrityError, match="NOT NULL"):
        connection.execute(insert(some).values(one=None))


def test_column_types_are_those_of_mariadb() -> None:
    some = table(
        columns.string("short", 36),
        columns.string("name"),
        columns.text("long"),
        columns.integer("count"),
        columns.flag("hidden"),
        columns.timestamp("seen"),
    )
    made = str(CreateTable(some).compile(dialect=mysql.dialect()))
    described = [line.strip().rstrip(",") for line in made.splitlines()]
    for line in (
        "id INTEGER NOT NULL AUTO_INCREMENT",
        "short VARCHAR(36)",
        "name VARCHAR(255)",
        "`long` TEXT",
        "count INTEGER",
        "hidden BOOL",
        "seen DATETIME",
    ):
        assert line in described


def fields_of(text: str, name: str) -> dict[str, Any]:
    """The fields of an object, which must be of this name."""
    read = json.loads(text)
    assert (read["nova_object.namespace"], read["nova_object.name"]) == ("nova", name)
    return read["nova_object.data"]


def one_of(blueprint: Blueprint, state: LifecycleState, **wanted: bool) -> Instance:
    return next(
        instance
        for instance in blueprint.instances
        if instance.state is state
        and all(getattr(instance, name) == value for name, value in wanted.items())
    )


def test_the_reader_finds_the_flavor_that_was_written() -> None:
    read = parse_flavors(objects.instance_flavors(TINY, None)).present
    assert read is not None
    assert (read.name, read.vcpus, read.memory_mb) == ("lab.tiny", 1, 512)
    assert (read.root_gb, read.ephemeral_gb, read.swap_mb) == (5, 0, 512)
    assert read.extra_specs == {}


def test_during_a_resize_the_current_flavor_is_already_the_new_one() -> None:
    settled = json.loads(objects.instance_flavors(SMALL, None))
    assert (settled["old"], settled["new"]) == (None, None)
    resized = json.loads(objects.instance_flavors(SMALL, TINY))
    names = {age: one["nova_object.data"]["name"] for age, one in resized.items()}
    assert names == {"cur": "lab.small", "old": "lab.tiny", "new": "lab.small"}


def test_a_request_for_a_volume_names_no_image(blueprint: Blueprint) -> None:
    for backed in (True, False):
        instance = one_of(blueprint, LifecycleState.ACTIVE, volume_backed=backed)
        asked = fields_of(objects.request_spec(instance), "RequestSpec")
        assert asked["is_bfv"] is backed
        image = asked["image"]["nova_object.data"]
        assert image.get("id") == (None if backed else objects.IMAGE_UUID)
        assert asked["instance_uuid"] == instance.uuid
        assert asked["project_id"] == instance.tenant.project_id
        assert asked["flavor"]["nova_object.data"]["name"] == instance.flavor.name


def test_an_unconfirmed_resize_names_its_migration(blueprint: Blueprint) -> None:
    move = next(move for move in blueprint.open_moves if move.kind == "resize")
    context = fields_of(objects.migration_context(move), "MigrationContext")
    assert context["instance_uuid"] == move.instance.uuid
    assert context["migration_id"] == move.number
    requests = context["new_pci_requests"]["nova_object.data"]
    assert requests == {"instance_uuid": move.instance.uuid, "requests": []}


def test_a_booting_instance_has_no_host(blueprint: Blueprint) -> None:
    instance = one_of(blueprint, LifecycleState.BOOTING)
    booting = fields_of(objects.booting_instance(instance), "Instance")
    assert (booting["uuid"], booting["vm_state"]) == (instance.uuid, "building")
    assert (booting["host"], booting["node"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (objects.no_key_pairs(), "KeyPairList"),
        (objects.no_block_devices(), "BlockDeviceMappingList"),
        (objects.no_pci_pools(), "PciDevicePoolList"),
    ],
)
def test_an_empty_list_has_no_objects(text: str, name: str) -> None:
    assert fields_of(text, name) == {"objects": []}
