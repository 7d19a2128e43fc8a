# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database → facts."""

from collections.abc import Iterable, Mapping

from sqlalchemy import select

from trueup.reconcile.facts import Inventory, Provider
from trueup.reconcile.sources.database import Row, Session
from trueup.reconcile.sources.placement import tables

WAY = "database"


def class_names(session: Session) -> dict[int, str]:
    """The resource classes by their number."""
    return {row.id: row.name for row in session.rows(select(tables.resource_classes))}


def provider_of(row: Row, inventories: Mapping[str, Inventory]) -> Provider:
    """A row of EVERY_PROVIDER, with what it has."""
    return Provider(
        uuid=str(row.uuid),
        name=row.name,
        generation=row.generation,
        root=row.root,
        parent=row.parent,
        inventories=inventories,
    )


def stocks_of(rows: Iterable[Row], classes: Mapping[int, str]) -> dict[int, dict[str, Inventory]]:
    """Inventories by the provider's number and the class's name."""
    stocks: dict[int, dict[str, Inventory]] = {}
    for row in rows:
        stock = Inventory(row.total, row.reserved, float(row.allocation_ratio))
        name = classes[row.resource_class_id]
        stocks.setdefault(row.resource_provider_id, {})[name] = stock
    return stocks


def amounts_of(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> dict[str, dict[str, dict[str, int]]]:
    """What each consumer holds of the providers that are known, `uuids` by their number."""
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        if uuid := uuids.get(row.resource_provider_id):
            held = consumers.setdefault(row.consumer_id, {}).setdefault(uuid, {})
            held[classes[row.resource_class_id]] = row.used
    return consumers
