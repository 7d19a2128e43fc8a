# SPDX-License-Identifier: Apache-2.0
"""The whole ledger, in batches: every provider, then every consumer with allocations.

Rows that upstream's API would not list are left out: providers without a root, allocations without
a consumer, and those of providers that are gone.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Column, Select, bindparam, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import (
    aggregates,
    allocations,
    consumer_types,
    consumers,
    inventories,
    projects,
    provider_aggregates,
    provider_traits,
    providers,
    resource_classes,
    traits,
    users,
)

BATCH_ROWS = 2000

_Amounts = dict[str, dict[str, Any]]


class ExportedProvider(NamedTuple):
    """The row of a provider."""

    id: int
    uuid: str
    name: str
    generation: int
    root_uuid: str
    parent_uuid: str | None


class ExportedConsumer(NamedTuple):
    """The row of a consumer; the rows of its owner may be gone."""

    id: int
    uuid: str
    generation: int
    project_id: str | None
    user_id: str | None
    consumer_type: str | None


class ProviderRecord(NamedTuple):
    """A provider with its inventories by class, its traits and its aggregates."""

    provider: ExportedProvider
    inventories: _Amounts
    traits: list[str]
    aggregates: list[str]


class ConsumerRecord(NamedTuple):
    """A consumer with its amounts, by provider uuid and class."""

    consumer: ExportedConsumer
    allocations: _Amounts


_roots, _parents = providers.alias("roots"), providers.alias("parents")
_AFTER: BindParameter[int] = bindparam("after")
_UP_TO: BindParameter[int] = bindparam("up_to")


def _between(query: Select[Any], column: Column[Any]) -> Select[Any]:
    return query.where(column > _AFTER, column <= _UP_TO)


_PROVIDERS = (
    select(
        providers.c.id,
        providers.c.uuid,
        providers.c.name,
        providers.c.generation,
        _roots.c.uuid,
        _parents.c.uuid,
    )
    .join(_roots, _roots.c.id == providers.c.root_provider_id)
    .outerjoin(_parents, _parents.c.id == providers.c.parent_provider_id)
    .where(providers.c.id > _AFTER)
    .order_by(providers.c.id)
    .limit(BATCH_ROWS)
)
_AMOUNTS = (
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)
_AMOUNT_NAMES = tuple(str(column.name) for column in _AMOUNTS)
_INVENTORIES = _between(
    select(inventories.c.resource_provider_id, inventories.c.resource_class_id, *_AMOUNTS),
    inventories.c.resource_provider_id,
)
_TRAITS = _between(
    select(provider_traits.c.resource_provider_id, traits.c.name)
    .join(traits, traits.c.id == provider_traits.c.trait_id)
    .order_by(traits.c.name),
    provider_traits.c.resource_provider_id,
)
_AGGREGATES = _between(
    select(provider_aggregates.c.resource_provider_id, aggregates.c.uuid)
    .join(aggregates, aggregates.c.id == provider_aggregates.c.aggregate_id)
    .order_by(aggregates.c.uuid),
    provider_aggregates.c.resource_provider_id,
)
_CONSUMERS = (
    select(
        consumers.c.id,
        consumers.c.uuid,
        consumers.c.generation,
        projects.c.external_id,
        users.c.external_id,
        consumer_types.c.name,
    )
    .outerjoin(projects, projects.c.id == consumers.c.project_id)
    .outerjoin(users, users.c.id == consumers.c.user_id)
    .outerjoin(consumer_types, consumer_types.c.id == consumers.c.consumer_type_id)
    .where(consumers.c.id > _AFTER)
    .order_by(consumers.c.id)
    .limit(BATCH_ROWS)
)
_ALLOCATIONS = _between(
    select(
        consumers.c.id,
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        allocations.c.used,
    ).join(consumers, consumers.c.uuid == allocations.c.consumer_id),
    consumers.c.id,
)


_USED = select(
    allocations.c.resource_provider_id,
    allocations.c.resource_class_id,
    func.sum(allocations.c.used),
).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)


def class_names(tx: Transaction) -> dict[int, str]:
    """Every resource class by its id."""
    found = tx.execute(select(resource_classes.c.id, resource_classes.c.name))
    return {row[0]: row[1] for row in found}


def all_providers(tx: Transaction, classes: Mapping[int, str]) -> Iterator[ProviderRecord]:
    """Every provider, without inventories of a class that does not exist.

    `tx` must be a snapshot, or the rows may contradict each other.
    """
    for batch, span in _batches(tx, _PROVIDERS):
        inventories_of: dict[int, _Amounts] = {}
        for provider_id, class_id, *amounts in tx.execute(_INVENTORIES, span):
            if name := classes.get(class_id):
                named = dict(zip(_AMOUNT_NAMES, amounts, strict=True))
                inventories_of.setdefault(provider_id, {})[name] = named
        of_traits, of_aggregates = _lists(tx, _TRAITS, span), _lists(tx, _AGGREGATES, span)
        for row in batch:
            yield ProviderRecord(
                ExportedProvider(*row),
                inventories_of.get(row[0], {}),
                of_traits.get(row[0], []),
                of_aggregates.get(row[0], []),
            )


def all_consumers(
    tx: Transaction, classes: Mapping[int, str], provider_uuids: Mapping[int, str]
) -> Iterator[ConsumerRecord]:
    """Every consumer with allocations on these providers."""
    for batch, span in _batches(tx, _CONSUMERS):
        held: dict[int, _Amounts] = {}
        for consumer_id, provider_id, class_id, used in tx.execute(_ALLOCATIONS, span):
            uuid, name = provider_uuids.get(provider_id), classes.get(class_id)
            if uuid and name:
                held.setdefault(consumer_id, {}).setdefault(uuid, {})[name] = used
        for row in batch:
            if row[0] in held:
                yield ConsumerRecord(ExportedConsumer(*row), held[row[0]])


def used(
    tx: Transaction, classes: Mapping[int, str], provider_uuids: Mapping[int, str]
) -> dict[tuple[str, str], int]:
    """The usage of these providers from all rows of allocations, by provider uuid and class."""
    return {
        (provider_uuids[provider_id], classes.get(class_id, str(class_id))): int(amount)
        for provider_id, class_id, amount in tx.execute(_USED)
        if provider_id in provider_uuids
    }


def _batches(tx: Transaction, query: Select[Any]) -> Iterator[tuple[Any, dict[str, int]]]:
    """Batches of rows in the order of their ids, each with its span of ids."""
    after = -1
    while batch := tx.execute(query, {"after": after}).all():
        span = {"after": after, "up_to": batch[-1][0]}
        yield batch, span
        after = span["up_to"]


def _lists(tx: Transaction, query: Select[Any], span: dict[str, int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for provider_id, name in tx.execute(query, span):
        found.setdefault(provider_id, []).append(name)
    return found
