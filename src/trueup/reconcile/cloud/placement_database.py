# SPDX-License-Identifier: Apache-2.0
"""The ledger from Placement's own database, read-only: a few queries over whole tables.

What Placement's API would not list is not there either: allocations without a consumer, providers
without a root.
"""

from collections.abc import Mapping

from sqlalchemy import Float, Select, column, select, table

from trueup.reconcile.cloud.databases import Database, Session
from trueup.reconcile.cloud.ledger import SHARING_TRAIT, Ledger, members_of_pools, with_pools
from trueup.reconcile.facts import Inventory, Provider

WAY = "database"

_providers = table(
    "resource_providers",
    *map(column, ("id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id")),
)
_classes = table("resource_classes", column("id"), column("name"))
_inventories = table(
    "inventories",
    *map(column, ("id", "resource_provider_id", "resource_class_id", "total", "reserved")),
    column("allocation_ratio", Float),
)
_traits = table("traits", column("id"), column("name"))
_provider_traits = table(
    "resource_provider_traits", column("resource_provider_id"), column("trait_id")
)
_aggregates = table(
    "resource_provider_aggregates", column("resource_provider_id"), column("aggregate_id")
)
_allocations = table(
    "allocations",
    *map(column, ("id", "resource_provider_id", "resource_class_id", "consumer_id", "used")),
)
_consumers = table("consumers", column("uuid"))

_roots, _parents = _providers.alias("roots"), _providers.alias("parents")
_PROVIDERS: Select[tuple[object, ...]] = (
    select(_providers, _roots.c.uuid.label("root"), _parents.c.uuid.label("parent"))
    .join_from(_providers, _roots, _roots.c.id == _providers.c.root_provider_id)
    .outerjoin(_parents, _parents.c.id == _providers.c.parent_provider_id)
)
_SHARING = (
    select(_provider_traits.c.resource_provider_id)
    .join_from(_provider_traits, _traits, _traits.c.id == _provider_traits.c.trait_id)
    .where(_traits.c.name == SHARING_TRAIT)
)
_ALLOCATIONS = select(_allocations).join_from(
    _allocations, _consumers, _consumers.c.uuid == _allocations.c.consumer_id
)


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
    classes = {row["id"]: row["name"] for row in session.rows(select(_classes))}
    rows = {row["id"]: row for row in session.every_row(_PROVIDERS, _providers.c.id)}
    uuids = {number: str(row["uuid"]) for number, row in rows.items()}
    stocks: dict[int, dict[str, Inventory]] = {}
    for row in session.every_row(select(_inventories), _inventories.c.id):
        stock = Inventory(row["total"], row["reserved"], float(row["allocation_ratio"]))
        stocks.setdefault(row["resource_provider_id"], {})[classes[row["resource_class_id"]]] = (
            stock
        )
    providers = [
        Provider(
            uuid=uuids[number],
            name=row["name"],
            generation=row["generation"],
            root=row["root"],
            parent=row["parent"],
            inventories=stocks.get(number, {}),
        )
        for number, row in rows.items()
    ]
    members = _members(session, uuids)
    return Ledger(with_pools(providers, members), _held(session, uuids, classes), WAY)


def _members(session: Session, uuids: Mapping[int, str]) -> dict[str, set[str]]:
    numbers = [row["resource_provider_id"] for row in session.rows(_SHARING)]
    aggregates: dict[str, list[str]] = {}
    for row in session.rows(select(_aggregates)) if numbers else ():
        if uuid := uuids.get(row["resource_provider_id"]):
            aggregates.setdefault(uuid, []).append(row["aggregate_id"])
    return members_of_pools((uuids[one] for one in numbers if one in uuids), aggregates)


def _held(
    session: Session, uuids: Mapping[int, str], classes: Mapping[int, str]
) -> dict[str, dict[str, dict[str, int]]]:
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for row in session.every_row(_ALLOCATIONS, _allocations.c.id):
        if uuid := uuids.get(row["resource_provider_id"]):
            held = consumers.setdefault(row["consumer_id"], {}).setdefault(uuid, {})
            held[classes[row["resource_class_id"]]] = row["used"]
    return consumers
