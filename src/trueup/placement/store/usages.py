# SPDX-License-Identifier: Apache-2.0
"""Sums of what is held: of a provider, of a project, by consumer type."""

from typing import Any

from sqlalchemy import ColumnElement, Label, and_, distinct, func, select

from trueup.model.names import UNKNOWN_CONSUMER_TYPE
from trueup.model.providers import Provider
from trueup.model.usages import TypeUsage
from trueup.placement.store.database import Transaction
from trueup.placement.store.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    projects,
    resource_classes,
    users,
)

ALL_TYPES = "all"
"""Asks for one sum over the consumers of all types."""


def of_provider(tx: Transaction, provider: Provider) -> dict[str, int]:
    """What is used of each inventory of a provider, 0 included."""
    query = (
        select(
            resource_classes.c.name,
            func.coalesce(func.sum(allocations.c.used), 0).label("used"),
        )
        .select_from(inventories)
        .join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)
        .outerjoin(
            allocations,
            and_(
                allocations.c.resource_provider_id == inventories.c.resource_provider_id,
                allocations.c.resource_class_id == inventories.c.resource_class_id,
            ),
        )
        .where(inventories.c.resource_provider_id == provider.id)
        .group_by(resource_classes.c.id, resource_classes.c.name)
        .order_by(resource_classes.c.id)
    )
    return {row.name: int(row.used) for row in tx.execute(query)}


def of_project(tx: Transaction, project_id: str, user_id: str | None) -> dict[str, int]:
    """What the consumers of a project hold together, or only those of one of its users."""
    query = _held_by(select(resource_classes.c.name, _used()), project_id, user_id)
    query = query.group_by(resource_classes.c.id, resource_classes.c.name)
    return {row.name: int(row.used) for row in tx.execute(query.order_by(resource_classes.c.id))}


def by_type(
    tx: Transaction, project_id: str, user_id: str | None, consumer_type: str | None
) -> list[TypeUsage]:
    """The same for each consumer type, for one type, or for ALL_TYPES as if they were one."""
    if consumer_type == ALL_TYPES:
        amounts = of_project(tx, project_id, user_id)
        count = select(func.count(distinct(allocations.c.consumer_id)))
        holding = tx.scalar(_held_by(count, project_id, user_id)) or 0
        return [TypeUsage(ALL_TYPES, holding, amounts)] if amounts else []
    name = func.coalesce(consumer_types.c.name, UNKNOWN_CONSUMER_TYPE).label("type")
    consumer_count = func.count(distinct(allocations.c.consumer_id)).label("consumers")
    sums = _held_by(select(name, resource_classes.c.name, _used()), project_id, user_id)
    counts = _held_by(select(name, consumer_count), project_id, user_id)
    if consumer_type is not None:
        sums, counts = (query.where(_is_of_type(consumer_type)) for query in (sums, counts))
    keys = (consumer_types.c.name, resource_classes.c.id, resource_classes.c.name)
    amounts_of: dict[str, dict[str, int]] = {}
    for row in tx.execute(sums.group_by(*keys).order_by(resource_classes.c.id)):
        amounts_of.setdefault(row.type, {})[row.name] = int(row.used)
    consumers_of = tx.execute(counts.group_by(consumer_types.c.name))
    return [TypeUsage(row.type, row.consumers, amounts_of[row.type]) for row in consumers_of]


def _is_of_type(consumer_type: str) -> ColumnElement[bool]:
    if consumer_type == UNKNOWN_CONSUMER_TYPE:
        return consumer_types.c.name.is_(None)
    return consumer_types.c.name == consumer_type


def _used() -> Label[int]:
    return func.coalesce(func.sum(allocations.c.used), 0).label("used")


def _held_by(query: Any, project_id: str, user_id: str | None) -> Any:
    query = (
        query.select_from(allocations)
        .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
        .join(consumers, allocations.c.consumer_id == consumers.c.uuid)
        .join(projects, consumers.c.project_id == projects.c.id)
        .outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
        .where(projects.c.external_id == project_id)
    )
    if user_id:
        query = query.join(users, consumers.c.user_id == users.c.id)
        query = query.where(users.c.external_id == user_id)
    return query
