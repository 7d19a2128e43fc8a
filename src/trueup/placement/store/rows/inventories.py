# SPDX-License-Identifier: Apache-2.0
"""Inventory rows, alone or with their usage."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Case, Column, Select, Update, bindparam, case, delete, func, select, update

from trueup.model.allocations import ProviderResource
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import ListStatement, RowsStatement, inserting, place
from trueup.placement.store.tables import allocations, inventories, resource_classes

AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
"""The columns of an inventory that are fields of an Inventory, in their order."""


# After the provider, the columns are the fields of an Inventory, in their order.
_COLUMNS: Select[Any] = select(
    inventories.c.resource_provider_id,
    resource_classes.c.name.label("resource_class"),
    *(inventories.c[name] for name in AMOUNTS),
    func.coalesce(inventories.c.updated_at, inventories.c.created_at).label("modified_at"),
).join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)

USED = (
    select(func.coalesce(func.sum(allocations.c.used), 0))
    .where(
        allocations.c.resource_provider_id == inventories.c.resource_provider_id,
        allocations.c.resource_class_id == inventories.c.resource_class_id,
    )
    .correlate(inventories)
    .scalar_subquery()
)
"""The usage of an inventory, as a part of queries for inventories."""
_with_usage = select(
    inventories.c.resource_provider_id,
    resource_classes.c.id,
    USED.label("used"),
    resource_classes.c.name,
    *(inventories.c[name] for name in AMOUNTS),
).join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)
_WITH_USAGE = ListStatement(
    "providers", lambda ids: _with_usage.where(inventories.c.resource_provider_id.in_(ids))
)
_of_provider = inventories.c.resource_provider_id == bindparam("provider")
_OF_PROVIDER = _COLUMNS.where(_of_provider).order_by(inventories.c.id)
_USED_CLASSES = ListStatement(
    "classes",
    lambda ids: (
        select(resource_classes.c.name)
        .join(allocations, allocations.c.resource_class_id == resource_classes.c.id)
        .where(
            allocations.c.resource_provider_id == bindparam("provider"),
            allocations.c.resource_class_id.in_(ids),
        )
        .group_by(resource_classes.c.id, resource_classes.c.name)
        .order_by(resource_classes.c.id)
    ),
)
_INSERTED = inserting(inventories, "resource_provider_id", "resource_class_id", *AMOUNTS)


def _update(count: int) -> Update:
    """The UPDATE of the amounts of several inventories of one provider."""
    class_id = inventories.c.resource_class_id
    ids = [place(class_id, number) for number in range(count)]

    def amount(column: Column[Any]) -> Case[Any]:
        """The value of the row that has the class."""
        values = [place(column, number) for number in range(count)]
        return case(*zip(ids, values, strict=True), value=class_id)

    of_provider = inventories.c.resource_provider_id == place(inventories.c.resource_provider_id, 0)
    return (
        update(inventories)
        .where(of_provider, class_id.in_(ids))
        .values({name: amount(inventories.c[name]) for name in AMOUNTS})
    )


_UPDATED = RowsStatement(_update)
_DELETED = ListStatement(
    "classes",
    lambda ids: delete(inventories).where(_of_provider, inventories.c.resource_class_id.in_(ids)),
)


def of_provider(tx: Transaction, provider: AnyProvider) -> dict[str, Inventory]:
    """All inventories of a provider, by resource class."""
    rows = tx.execute(_OF_PROVIDER, {"provider": provider.id})
    return {name: Inventory(name, *amounts) for _, name, *amounts in rows}


def with_usage(
    tx: Transaction, providers: Iterable[AnyProvider], names: Collection[str] | None = None
) -> tuple[dict[ProviderResource, InventoryWithUsage], dict[str, int]]:
    """The inventories of these classes, or of all, on these providers, with their usage.

    Also the ids of the classes of these inventories. SAFETY: the caller has locked the providers,
    otherwise the usage may change at any time.
    """
    uuids = {provider.id: provider.uuid for provider in providers}
    present, class_ids = {}, {}
    rows = _WITH_USAGE.send(tx, {"providers": list(uuids)}).rows
    for provider_id, class_id, used, name, *amounts in rows:
        if names is not None and name not in names:
            continue
        inventory = Inventory(name, *amounts)
        present[uuids[provider_id], name] = InventoryWithUsage(inventory, int(used))
        class_ids[name] = class_id
    return present, class_ids


def used_classes(tx: Transaction, provider: AnyProvider, class_ids: Collection[int]) -> list[str]:
    """The names of these classes of which consumers have allocations on the provider."""
    values = {"provider": provider.id, "classes": list(class_ids)}
    return [name for (name,) in _USED_CLASSES.send(tx, values).rows]


def insert_inventories(
    tx: Transaction, provider: AnyProvider, wanted: Iterable[Inventory], ids: Mapping[str, int]
) -> None:
    """Add inventories of classes that the provider does not have yet."""
    rows = [_row(provider, inventory, ids) for inventory in wanted]
    if rows:
        _INSERTED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def update_inventories(
    tx: Transaction, provider: AnyProvider, wanted: Iterable[Inventory], ids: Mapping[str, int]
) -> None:
    """Change the amounts of existing inventories of the provider."""
    rows = [_row(provider, inventory, ids) for inventory in wanted]
    if rows:
        _UPDATED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def delete_inventories(tx: Transaction, provider: AnyProvider, class_ids: Collection[int]) -> None:
    """Delete the inventories of these classes from the provider."""
    if class_ids:
        _DELETED.send(tx, {"provider": provider.id, "classes": list(class_ids)})
        note(tx, PROVIDER, [provider.id])


def _row(provider: AnyProvider, inventory: Inventory, ids: Mapping[str, int]) -> dict[str, Any]:
    amounts = {name: getattr(inventory, name) for name in AMOUNTS}
    class_id = ids[inventory.resource_class]
    return {"resource_provider_id": provider.id, "resource_class_id": class_id, **amounts}
