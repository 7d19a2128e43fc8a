# SPDX-License-Identifier: Apache-2.0
"""The ledger from Placement's own database, read-only: a few queries over whole tables.

What Placement's API would not list is not there either: allocations without a consumer, providers
without a root.
"""

from collections.abc import Mapping

from sqlalchemy import select

from trueup.reconcile.sources.database import Database, Session
from trueup.reconcile.sources.placement import tables
from trueup.reconcile.sources.placement.contract import Ledger, members_of_sharing, with_sharing
from trueup.reconcile.sources.placement.database_parts import PlacementDatabaseParts
from trueup.reconcile.sources.placement.rows import (
    WAY,
    amounts_of,
    class_names,
    provider_of,
    stocks_of,
)


class PlacementDatabase:
    """Placement's database. Every method raises Unreachable when it does not answer."""

    def __init__(self, url: str) -> None:
        """Raises DatabaseUnusable."""
        self._database = Database("Placement's database", url)

    def ledger(self) -> Ledger:
        """Everything, as of one moment."""
        return self._database.ask(_ledger)

    def parts(self) -> PlacementDatabaseParts:
        """The same for those who need not everything."""
        return PlacementDatabaseParts(self._database)

    def close(self) -> None:
        self._database.close()


def _ledger(session: Session) -> Ledger:
    classes = class_names(session)
    every = session.every_row(tables.EVERY_PROVIDER, tables.providers.c.id)
    rows = {row.id: row for row in every}
    uuids = {number: str(row.uuid) for number, row in rows.items()}
    stocks = stocks_of(
        session.every_row(select(tables.inventories), tables.inventories.c.id), classes
    )
    providers = [provider_of(row, stocks.get(number, {})) for number, row in rows.items()]
    members = _members(session, uuids)
    held = session.every_row(tables.EVERY_ALLOCATION, tables.allocations.c.id)
    return Ledger(with_sharing(providers, members), amounts_of(held, uuids, classes), WAY)


def _members(session: Session, uuids: Mapping[int, str]) -> dict[str, set[str]]:
    numbers = [row.resource_provider_id for row in session.rows(tables.EVERY_POOL)]
    aggregates: dict[str, list[str]] = {}
    for row in session.rows(select(tables.provider_aggregates)) if numbers else ():
        if uuid := uuids.get(row.resource_provider_id):
            aggregates.setdefault(uuid, []).append(row.aggregate_id)
    return members_of_sharing((uuids[one] for one in numbers if one in uuids), aggregates)
