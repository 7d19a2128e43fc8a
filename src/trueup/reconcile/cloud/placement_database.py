# SPDX-License-Identifier: Apache-2.0
"""The ledger from Placement's own database, read-only: a few queries over whole tables.

What Placement's API would not list is not there either: allocations without a consumer, providers
without a root.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import select

from trueup.reconcile.cloud import placement_tables as tables
from trueup.reconcile.cloud.databases import Database, Row, Session
from trueup.reconcile.cloud.ledger import Ledger, members_of_pools, with_pools
from trueup.reconcile.facts import Inventory, Provider

WAY = "database"


class PlacementDatabase:
    """Placement's database. Every method raises Unreachable when it does not answer."""

    def __init__(self, url: str) -> None:
        """Raises DatabaseUnusable."""
        self._database = Database("Placement's database", url)

    def ledger(self) -> Ledger:
        """Everything, as of one moment."""
        return self._database.ask(_ledger)

    def close(self) -> None:
        self._database.close()


def _ledger(session: Session) -> Ledger:
    classes = class_names(session)
    every = session.every_row(tables.EVERY_PROVIDER, tables.providers.c.id)
    rows = {row["id"]: row for row in every}
    uuids = {number: str(row["uuid"]) for number, row in rows.items()}
    stocks = stocks_of(
        session.every_row(select(tables.inventories), tables.inventories.c.id), classes
    )
    providers = [provider_of(row, stocks.get(number, {})) for number, row in rows.items()]
    members = _members(session, uuids)
    held = session.every_row(tables.EVERY_ALLOCATION, tables.allocations.c.id)
    return Ledger(with_pools(providers, members), amounts_of(held, uuids, classes), WAY)


def class_names(session: Session) -> dict[int, str]:
    """The resource classes by their number."""
    return {row["id"]: row["name"] for row in session.rows(select(tables.resource_classes))}


def provider_of(row: Row, inventories: Mapping[str, Inventory]) -> Provider:
    """A row of EVERY_PROVIDER, with what it has."""
    return Provider(
        uuid=str(row["uuid"]),
        name=row["name"],
        generation=row["generation"],
        root=row["root"],
        parent=row["parent"],
        inventories=inventories,
    )


def stocks_of(rows: Iterable[Row], classes: Mapping[int, str]) -> dict[int, dict[str, Inventory]]:
    """Inventories by the provider's number and the class's name."""
    stocks: dict[int, dict[str, Inventory]] = {}
    for row in rows:
        stock = Inventory(row["total"], row["reserved"], float(row["allocation_ratio"]))
        name = classes[row["resource_class_id"]]
        stocks.setdefault(row["resource_provider_id"], {})[name] = stock
    return stocks


def amounts_of(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> dict[str, dict[str, dict[str, int]]]:
    """What each consumer holds of the providers that are known, `uuids` by their number."""
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        if uuid := uuids.get(row["resource_provider_id"]):
            held = consumers.setdefault(row["consumer_id"], {}).setdefault(uuid, {})
            held[classes[row["resource_class_id"]]] = row["used"]
    return consumers


def _members(session: Session, uuids: Mapping[int, str]) -> dict[str, set[str]]:
    numbers = [row["resource_provider_id"] for row in session.rows(tables.EVERY_POOL)]
    aggregates: dict[str, list[str]] = {}
    for row in session.rows(select(tables.provider_aggregates)) if numbers else ():
        if uuid := uuids.get(row["resource_provider_id"]):
            aggregates.setdefault(uuid, []).append(row["aggregate_id"])
    return members_of_pools((uuids[one] for one in numbers if one in uuids), aggregates)
