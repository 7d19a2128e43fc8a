# SPDX-License-Identifier: Apache-2.0
"""Rows that refer to a row that does not exist.

The tables have hardly any foreign keys, so restored backups and deletions by hand leave them
behind. Rows of a provider that is gone are deleted. Allocations of a resource class that is gone
may still be in use, and stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes
from sqlalchemy import Column, Select, and_, delete, select, update

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.fsck.ownerless_allocation import owner_ids
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

DEFECT = "dangling_row"

_DELETE = "delete the row"


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that names rows of another table, and the repair when the row is missing."""

    column: Column[int]
    target: Column[int]
    noun: str
    remedy: str
    repair: Callable[[Transaction, "Dangling", Incomplete], None]


@dataclass(frozen=True, slots=True)
class Dangling:
    """One row, by its primary key, and its broken reference."""

    key: tuple[Any, ...]
    reference: Reference


def find(tx: Transaction) -> list[Finding]:
    """One finding for each row and reference."""
    found = [finding for reference in _REFERENCES for finding in _dangling(tx, reference)]
    return found + _of_unknown_classes(tx)


def repair(tx: Transaction, findings: Sequence[Finding], incomplete: Incomplete) -> None:
    """Delete the rows, or let them refer to a substitute."""
    for finding in findings:
        dangling: Dangling = finding.rows
        dangling.reference.repair(tx, dangling, incomplete)


def _dangling(tx: Transaction, reference: Reference) -> list[Finding]:
    table = reference.column.table
    known = select(reference.target).where(reference.target == reference.column)
    query = select(*table.primary_key, reference.column.label("goal"))
    query = query.where(reference.column.is_not(None), ~known.exists())
    return [
        _finding(reference, tuple(row)[:-1], row.goal, reference.remedy)
        for row in tx.execute(query.order_by(*table.primary_key))
    ]


def _of_unknown_classes(tx: Transaction) -> list[Finding]:
    """Inventories and allocations of a resource class without a row, and so without a name."""
    found = []
    for row in tx.execute(_unknown_class(inventories)):
        held = select(allocations.c.id).where(
            and_(
                allocations.c.resource_provider_id == row.resource_provider_id,
                allocations.c.resource_class_id == row.goal,
            )
        )
        is_held = tx.execute(held.limit(1)).first() is not None
        found.append(_class_finding(_INVENTORY_CLASS, row, repairable=not is_held))
    for row in tx.execute(_unknown_class(allocations)):
        found.append(_class_finding(_ALLOCATION_CLASS, row, repairable=False))
    return found


def _unknown_class(table: Any) -> Select[Any]:
    known = select(resource_classes.c.id).where(resource_classes.c.id == table.c.resource_class_id)
    # Every start of the service adds the standard classes again.
    standard = range(len(os_resource_classes.STANDARDS))
    query = select(
        table.c.id, table.c.resource_provider_id, table.c.resource_class_id.label("goal")
    ).where(~known.exists(), table.c.resource_class_id.not_in(standard))
    # A row of a provider that is gone is a finding already.
    has_provider = select(providers.c.id).where(providers.c.id == table.c.resource_provider_id)
    return query.where(has_provider.exists()).order_by(table.c.id)


def _class_finding(reference: Reference, row: Any, *, repairable: bool) -> Finding:
    remedy = reference.remedy if repairable else _HELD
    return _finding(reference, (row.id,), row.goal, remedy, repairable=repairable)


def _finding(
    reference: Reference,
    key: tuple[Any, ...],
    goal: int,
    remedy: str,
    *,
    repairable: bool = True,
) -> Finding:
    return Finding(
        defect=DEFECT,
        subject=f"{reference.column.table.name} row {'/'.join(map(str, key))}",
        evidence=f"refers to {reference.noun} {goal}, which does not exist",
        remedy=remedy,
        repairable=repairable,
        rows=Dangling(key, reference),
    )


def _where(dangling: Dangling) -> Any:
    columns = dangling.reference.column.table.primary_key
    return and_(*(c == value for c, value in zip(columns, dangling.key, strict=True)))


def _delete(tx: Transaction, dangling: Dangling, _incomplete: Incomplete) -> None:
    tx.execute(delete(dangling.reference.column.table).where(_where(dangling)))


def _forget(tx: Transaction, dangling: Dangling, _incomplete: Incomplete) -> None:
    column = dangling.reference.column
    tx.execute(update(column.table).where(_where(dangling)).values({column.name: None}))


def _give_owner(tx: Transaction, dangling: Dangling, incomplete: Incomplete) -> None:
    column = dangling.reference.column
    project_id, user_id = owner_ids(tx, incomplete)
    owner = project_id if column is consumers.c.project_id else user_id
    tx.execute(update(consumers).where(_where(dangling)).values({column.name: owner}))


def _to_provider(table: Any) -> Reference:
    return Reference(table.c.resource_provider_id, providers.c.id, "provider", _DELETE, _delete)


_HELD = "none: a consumer holds some of it, and its name is lost; add the resource class by its id"
_OWNER = "write the {noun} of incomplete consumers"
_REFERENCES = (
    _to_provider(allocations),
    _to_provider(inventories),
    _to_provider(provider_aggregates),
    _to_provider(provider_traits),
    Reference(provider_aggregates.c.aggregate_id, aggregates.c.id, "aggregate", _DELETE, _delete),
    Reference(provider_traits.c.trait_id, traits.c.id, "trait", _DELETE, _delete),
    Reference(
        consumers.c.project_id,
        projects.c.id,
        "project",
        _OWNER.format(noun="project"),
        _give_owner,
    ),
    Reference(consumers.c.user_id, users.c.id, "user", _OWNER.format(noun="user"), _give_owner),
    Reference(
        consumers.c.consumer_type_id,
        consumer_types.c.id,
        "consumer type",
        "leave its type open",
        _forget,
    ),
)
_INVENTORY_CLASS = Reference(
    inventories.c.resource_class_id, resource_classes.c.id, "resource class", _DELETE, _delete
)
_ALLOCATION_CLASS = Reference(
    allocations.c.resource_class_id, resource_classes.c.id, "resource class", _HELD, _delete
)
