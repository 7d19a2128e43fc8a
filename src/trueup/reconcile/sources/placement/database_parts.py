# SPDX-License-Identifier: Apache-2.0
"""The ledger part by part from Placement's database: only the rows of what is named."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import select

from trueup.reconcile.facts import Amounts, Provider, within_trees
from trueup.reconcile.sources.database import Database, Row, Session
from trueup.reconcile.sources.placement import tables
from trueup.reconcile.sources.placement.contract import members_of_sharing, with_sharing
from trueup.reconcile.sources.placement.rows import (
    WAY,
    amounts_of,
    class_names,
    provider_of,
    stocks_of,
)


class PlacementDatabaseParts:
    """The parts of a ledger, each as of one moment. Every method raises Unreachable."""

    read_via: str = WAY

    def __init__(self, database: Database) -> None:
        self._database = database

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        by_uuid, by_name = sorted(set(uuids)), sorted(set(names))
        return self._database.ask(lambda session: _trees(session, by_uuid, by_name))

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        wanted = sorted(set(providers))
        return self._database.ask(lambda session: _holders(session, wanted))

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        wanted = sorted(set(consumers))
        return self._database.ask(lambda session: _held(session, wanted))

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        return self._database.ask(lambda session: _completed(session, trees))


def _trees(session: Session, uuids: list[str], names: list[str]) -> dict[str, Provider]:
    providers = tables.providers.c
    query = tables.EVERY_PROVIDER
    members = [*session.rows_of(query, providers.uuid, uuids)]
    members += session.rows_of(query, providers.name, names)
    roots = sorted({row.root_provider_id for row in members})
    rows = session.rows_of(query, providers.root_provider_id, roots)
    return {row.uuid: provider_of(row, {}) for row in rows}


def _holders(session: Session, providers: list[str]) -> frozenset[str]:
    numbers = [row.id for row in _rows(session, providers)]
    query = tables.EVERY_ALLOCATION.with_only_columns(tables.allocations.c.consumer_id).distinct()
    rows = session.rows_of(query, tables.allocations.c.resource_provider_id, numbers)
    return frozenset(row.consumer_id for row in rows)


def _held(session: Session, consumers: list[str]) -> dict[str, Amounts]:
    allocations = tables.allocations.c
    rows = [*session.rows_of(tables.EVERY_ALLOCATION, allocations.consumer_id, consumers)]
    numbers = sorted({row.resource_provider_id for row in rows})
    providers = session.rows_of(tables.EVERY_PROVIDER, tables.providers.c.id, numbers)
    uuids = {row.id: row.uuid for row in providers}
    held = amounts_of(rows, uuids, class_names(session))
    # A server that ignores case finds others besides.
    return {uuid: held[uuid] for uuid in consumers if uuid in held}


def _completed(session: Session, trees: Mapping[str, Provider]) -> dict[str, Provider]:
    inventories = tables.inventories
    own = {row.id: row for row in _rows(session, sorted(trees))}
    pools = {row.id: row for row in _pools(session)}
    rows = {**pools, **own}
    known = {number: provider_of(row, {}) for number, row in rows.items()}
    members = _members(session, known, pools) if pools else {}
    roots = frozenset(row.root for row in trees.values())
    near = within_trees(with_sharing(known.values(), members), roots)
    numbers = [number for number, row in known.items() if row.uuid in near]
    found = session.rows_of(select(inventories), inventories.c.resource_provider_id, numbers)
    stocks = stocks_of(found, class_names(session))
    return {
        known[number].uuid: replace(near[known[number].uuid], inventories=stocks.get(number, {}))
        for number in numbers
    }


def _rows(session: Session, uuids: list[str]) -> list[Row]:
    return [*session.rows_of(tables.EVERY_PROVIDER, tables.providers.c.uuid, uuids)]


def _pools(session: Session) -> list[Row]:
    numbers = [row.resource_provider_id for row in session.rows(tables.EVERY_POOL)]
    return [*session.rows_of(tables.EVERY_PROVIDER, tables.providers.c.id, numbers)]


def _members(
    session: Session, known: Mapping[int, Provider], pools: Iterable[int]
) -> dict[str, set[str]]:
    table = tables.provider_aggregates
    aggregates: dict[str, list[str]] = {}
    for row in session.rows_of(select(table), table.c.resource_provider_id, sorted(known)):
        uuid = known[row.resource_provider_id].uuid
        aggregates.setdefault(uuid, []).append(row.aggregate_id)
    return members_of_sharing((known[number].uuid for number in pools), aggregates)
