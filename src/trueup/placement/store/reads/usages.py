# SPDX-License-Identifier: Apache-2.0
"""Sums of allocations: of a project, and by consumer type."""

import functools
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    Subquery,
    Table,
    bindparam,
    exists,
    func,
    select,
)

from trueup.model.names import UNKNOWN_CONSUMER_TYPE
from trueup.model.usages import TypeUsage
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement
from trueup.placement.store.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    users,
)

ALL_TYPES = "all"
"""The consumer type of a request for one sum over all types."""


def of_project(tx: Transaction, project_id: str, user_id: str | None) -> dict[str, int]:
    """The usage of a project, or of one of its users, by resource class."""
    values = {"project": project_id, "user": user_id}
    return {name: int(used) for name, used in _sums(bool(user_id)).send(tx, values).rows}


def by_type(
    tx: Transaction, project_id: str, user_id: str | None, consumer_type: str | None
) -> list[TypeUsage]:
    """The usage of a project by consumer type: each type, one type, or ALL_TYPES as one."""
    values = {"project": project_id, "user": user_id, "type": consumer_type}
    of_user = bool(user_id)
    if consumer_type == ALL_TYPES:
        amounts = of_project(tx, project_id, user_id)
        ((holding,),) = _count(of_user).send(tx, values).rows
        return [TypeUsage(ALL_TYPES, holding, amounts)] if amounts else []
    is_known = None if consumer_type is None else consumer_type != UNKNOWN_CONSUMER_TYPE
    amounts_of: dict[str, dict[str, int]] = {}
    for type_name, name, used in _sums_by_type(of_user, is_known).send(tx, values).rows:
        amounts_of.setdefault(type_name, {})[name] = int(used)
    consumers_of = _counts_by_type(of_user, is_known).send(tx, values).rows
    return [TypeUsage(name, holding, amounts_of[name]) for name, holding in consumers_of]


@functools.cache
def _sums(of_user: bool) -> FixedStatement:
    held = _amounts(of_user, is_known=None)
    query = select(resource_classes.c.name, func.sum(held.c.used).label("used"))
    query = query.join(held, held.c.resource_class_id == resource_classes.c.id)
    query = query.group_by(resource_classes.c.id, resource_classes.c.name)
    return FixedStatement(query.order_by(resource_classes.c.id))


@functools.cache
def _count(of_user: bool) -> FixedStatement:
    return FixedStatement(_with_allocations(select(func.count()).select_from(consumers), of_user))


@functools.cache
def _sums_by_type(of_user: bool, is_known: bool | None) -> FixedStatement:
    held = _amounts(of_user, is_known)
    query = select(_type_name(), resource_classes.c.name, held.c.used).select_from(held)
    query = query.join(resource_classes, held.c.resource_class_id == resource_classes.c.id)
    query = query.outerjoin(consumer_types, held.c.consumer_type_id == consumer_types.c.id)
    return FixedStatement(query.order_by(resource_classes.c.id))


@functools.cache
def _counts_by_type(of_user: bool, is_known: bool | None) -> FixedStatement:
    query = select(_type_name(), func.count().label("consumers")).select_from(consumers)
    query = query.outerjoin(consumer_types, consumers.c.consumer_type_id == consumer_types.c.id)
    held = _of_type(_with_allocations(query, of_user), is_known)
    return FixedStatement(held.group_by(consumer_types.c.name))


def _amounts(of_user: bool, is_known: bool | None) -> Subquery:
    """Sums of allocations by type and class.

    PERF: names are joined to the sums, not to the thousands of rows that are summed.
    """
    keys = (consumers.c.consumer_type_id, allocations.c.resource_class_id)
    query = select(*keys, func.sum(allocations.c.used).label("used")).select_from(consumers)
    query = query.join(allocations, allocations.c.consumer_id == consumers.c.uuid)
    return _of_type(_owned(query, of_user), is_known).group_by(*keys).subquery("held")


def _with_allocations(query: Any, of_user: bool) -> Select[Any]:
    """Only consumers with allocations.

    PERF: EXISTS reads one row of each consumer; counting distinct consumers would read all rows.
    """
    held = exists().where(allocations.c.consumer_id == consumers.c.uuid)
    return _owned(query.where(held), of_user)


def _owned(query: Select[Any], of_user: bool) -> Select[Any]:
    """Only consumers of the project, or of one of its users."""
    query = query.where(consumers.c.project_id == _id_of(projects, "project"))
    return query.where(consumers.c.user_id == _id_of(users, "user")) if of_user else query


def _id_of(owners: Table, name: str) -> ScalarSelect[int]:
    found = select(owners.c.id).where(owners.c.external_id == bindparam(name))
    return found.scalar_subquery()


def _of_type(query: Select[Any], is_known: bool | None) -> Select[Any]:
    """Only consumers of the requested type, or without a type; all of them for None."""
    type_id = consumers.c.consumer_type_id
    if is_known is None:
        return query
    if not is_known:
        return query.where(type_id.is_(None))
    named = select(consumer_types.c.id).where(consumer_types.c.name == bindparam("type"))
    return query.where(type_id == named.scalar_subquery())


def _type_name() -> ColumnElement[str]:
    return func.coalesce(consumer_types.c.name, UNKNOWN_CONSUMER_TYPE).label("type")
