# SPDX-License-Identifier: Apache-2.0
"""Fills an empty database with a whole ledger, in one transaction.

The database assigns the ids, so that its own counters are right afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Column, Table, func, insert, inspect, select, update

from trueup.model.names import is_custom
from trueup.placement.store import migrations
from trueup.placement.store.engine.changes import EVERYTHING, note
from trueup.placement.store.engine.database import Database, Transaction
from trueup.placement.store.own_tables import PREFIX
from trueup.placement.store.rows import class_and_trait_names as names
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    consumer_types,
    consumers,
    inventories,
    metadata,
    projects,
    provider_aggregates,
    provider_traits,
    providers,
    resource_classes,
    traits,
    users,
)

# PERF: as many rows as a statement of every database takes; a row at a time takes ten times longer.
_ROWS_AT_ONCE = 5000
_FIRST_GENERATION = 1

Amounts = Mapping[str, Mapping[str, int]]
Values = Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class FilledProvider:
    """A provider with its inventories (fields by class), traits and aggregates."""

    uuid: str
    name: str
    parent: str | None
    generation: int
    inventories: Mapping[str, Values]
    traits: frozenset[str]
    aggregates: frozenset[str]


@dataclass(frozen=True, slots=True)
class FilledConsumer:
    """A consumer with its owner, and its amounts by provider and class."""

    uuid: str
    project: str
    user: str
    type: str | None
    amounts: Amounts


@dataclass(eq=False)
class LedgerThere(Exception):
    """The database has providers or consumers already."""

    providers: int
    consumers: int


@dataclass(eq=False)
class NotOfPlacement(Exception):
    """The database has tables that are not Placement's, or are of an unknown release."""

    tables: tuple[str, ...]


def tables_in(database: Database) -> tuple[str, ...]:
    """The names of all tables, in order."""
    return tuple(sorted(inspect(database.engine).get_table_names()))


def is_filled(database: Database) -> bool:
    """Whether a database has a ledger; it may have no tables yet. Raises NotOfPlacement.

    SAFETY: nothing is written: the database may belong to another service.
    """
    inspector = inspect(database.engine)
    there = {*inspector.get_table_names(), *inspector.get_view_names()}
    if strange := {name for name in there - metadata.tables.keys() if not name.startswith(PREFIX)}:
        raise NotOfPlacement(tuple(sorted(strange)))
    try:
        migrations.refuse_unknown_revision(database)
    except migrations.UnknownRevision as error:
        raise NotOfPlacement(tuple(sorted(there))) from error
    with database.reading() as tx:
        return any(
            tx.execute(select(table.c.id).limit(1)).first() is not None
            for table in (providers, consumers, allocations)
            if table.name in there
        )


def marks(database: Database) -> frozenset[tuple[object, ...]]:
    """Rows that tell this database from others with the same ledger; none in an empty database."""
    columns = (providers.c.id, providers.c.uuid, providers.c.created_at)
    if not inspect(database.engine).has_table(providers.name):
        return frozenset()
    with database.reading() as tx:
        return frozenset(tuple(row) for row in tx.execute(select(*columns)))


def fill(
    database: Database,
    every_provider: Sequence[FilledProvider],
    every_consumer: Sequence[FilledConsumer],
) -> None:
    """Write a ledger. Raises LedgerThere."""
    with database.transaction() as tx:
        refuse_filled(tx)
        _fill_names(tx, every_provider, every_consumer)
        numbers = _fill_providers(tx, every_provider)
        _fill_parts(tx, every_provider, numbers)
        _fill_consumers(tx, every_consumer, numbers)
        note(tx, EVERYTHING)


def refuse_filled(tx: Transaction) -> None:
    """Raise LedgerThere if there is any provider, consumer or allocation."""
    found = [
        tx.scalar(select(func.count()).select_from(table)) or 0
        for table in (providers, consumers, allocations)
    ]
    if any(found):
        raise LedgerThere(found[0], max(found[1:]))


def _fill_names(
    tx: Transaction, rows: Sequence[FilledProvider], holders: Iterable[FilledConsumer]
) -> None:
    """Add the custom resource classes and traits that these need.

    A consumer may hold a class that no provider has an inventory of any more.
    """
    named = {name for provider in rows for name in provider.inventories}
    named |= {name for consumer in holders for held in consumer.amounts.values() for name in held}
    classes = {name for name in named if is_custom(name)}
    for name in sorted(classes - _ids_by_name(tx, resource_classes.c.name).keys()):
        names.insert_resource_class(tx, name)
    wanted = {name for provider in rows for name in provider.traits}
    missing = sorted(wanted - _ids_by_name(tx, traits.c.name).keys())
    _insert(tx, traits, ({"name": name} for name in missing))


def _fill_providers(tx: Transaction, every: Sequence[FilledProvider]) -> dict[str, int]:
    """Add the providers, parents before children; their ids by uuid."""
    waiting, roots = {provider.uuid: provider for provider in every}, dict[str, int]()
    numbers: dict[str, int] = {}
    while waiting:
        ready = [
            provider
            for provider in waiting.values()
            if provider.parent is None or provider.parent in numbers
        ]
        _insert(
            tx,
            providers,
            (
                {
                    "uuid": provider.uuid,
                    "name": provider.name,
                    "generation": provider.generation,
                    "parent_provider_id": numbers.get(provider.parent or ""),
                    "root_provider_id": roots.get(provider.parent or ""),
                }
                for provider in ready
            ),
        )
        tx.execute(
            update(providers)
            .where(providers.c.root_provider_id.is_(None))
            .values(root_provider_id=providers.c.id)
        )
        rows = tx.execute(select(providers.c.uuid, providers.c.id, providers.c.root_provider_id))
        for uuid, number, root in rows:
            numbers[uuid], roots[uuid] = number, root
        waiting = {uuid: provider for uuid, provider in waiting.items() if uuid not in numbers}
        assert ready, "a parent is not among the providers"
    return numbers


def _fill_parts(
    tx: Transaction, every: Sequence[FilledProvider], numbers: Mapping[str, int]
) -> None:
    """Add inventories, traits and aggregates."""
    classes = _ids_by_name(tx, resource_classes.c.name)
    _insert(
        tx,
        inventories,
        (
            {
                "resource_provider_id": numbers[provider.uuid],
                "resource_class_id": classes[name],
                **values,
            }
            for provider in every
            for name, values in provider.inventories.items()
        ),
    )
    of_traits = _ids_by_name(tx, traits.c.name)
    _insert(
        tx,
        provider_traits,
        (
            {"resource_provider_id": numbers[provider.uuid], "trait_id": of_traits[name]}
            for provider in every
            for name in sorted(provider.traits)
        ),
    )
    uuids = sorted({uuid for provider in every for uuid in provider.aggregates})
    of_aggregates = _ids_with_new(tx, aggregates.c.uuid, uuids)
    _insert(
        tx,
        provider_aggregates,
        (
            {"resource_provider_id": numbers[provider.uuid], "aggregate_id": of_aggregates[uuid]}
            for provider in every
            for uuid in sorted(provider.aggregates)
        ),
    )


def _fill_consumers(
    tx: Transaction, every: Sequence[FilledConsumer], numbers: Mapping[str, int]
) -> None:
    of_projects = _ids_with_new(
        tx, projects.c.external_id, sorted({consumer.project for consumer in every})
    )
    of_users = _ids_with_new(tx, users.c.external_id, sorted({consumer.user for consumer in every}))
    of_types = _ids_with_new(
        tx, consumer_types.c.name, sorted({consumer.type for consumer in every if consumer.type})
    )
    _insert(
        tx,
        consumers,
        (
            {
                "uuid": consumer.uuid,
                "project_id": of_projects[consumer.project],
                "user_id": of_users[consumer.user],
                "consumer_type_id": of_types.get(consumer.type or ""),
                "generation": _FIRST_GENERATION,
            }
            for consumer in every
        ),
    )
    classes = _ids_by_name(tx, resource_classes.c.name)
    _insert(
        tx,
        allocations,
        (
            {
                "resource_provider_id": numbers[uuid],
                "consumer_id": consumer.uuid,
                "resource_class_id": classes[name],
                "used": amount,
            }
            for consumer in every
            for uuid, held in consumer.amounts.items()
            for name, amount in held.items()
        ),
    )


def _ids_with_new(tx: Transaction, column: Column[str], wanted: Iterable[str]) -> dict[str, int]:
    """The ids of these names, which are added where they are missing."""
    known = _ids_by_name(tx, column)
    _insert(tx, column.table, ({column.name: name} for name in wanted if name not in known))
    return _ids_by_name(tx, column)


def _ids_by_name(tx: Transaction, column: Column[str]) -> dict[str, int]:
    """The id of each name in a table."""
    rows = tx.execute(select(column, column.table.c.id))
    return {row[0]: row[1] for row in rows}


def _insert(tx: Transaction, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    for part in _batches(rows):
        tx.execute(insert(table), part)


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    left = iter(rows)
    while part := list(islice(left, _ROWS_AT_ONCE)):
        yield part
