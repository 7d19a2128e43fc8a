# SPDX-License-Identifier: Apache-2.0
"""Reads the ledger, or the rows of some providers, from Placement's own database. Read-only.

Rows that Placement's API does not list are left out here too: allocations without a consumer, and
providers without a root.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Select, TableClause, select

from trueup.reconcile.facts import Amounts, LedgerFault, Owner, Provider, within_trees
from trueup.reconcile.sources.database import Database, Row, Session
from trueup.reconcile.sources.placement import faults, tables
from trueup.reconcile.sources.placement.contract import SHARING_TRAIT, Ledger
from trueup.reconcile.sources.placement.rows import DATABASE as PLACEMENT_DATABASE
from trueup.reconcile.sources.placement.rows import (
    amounts_of,
    inventories_of,
    names_of,
    owners_of,
    provider_of,
)
from trueup.reconcile.sources.placement.sharing import members_of_sharing, with_sharing

DATABASE = "database"
NOTHING: frozenset[str] = frozenset()
# How many providers are compared to check that the API serves the same ledger.
SAMPLE = 8


class PlacementDatabase:
    """A LedgerDatabase. Every answer is as of one moment; every method raises Unreachable."""

    read_via: str = DATABASE

    def __init__(self, url: str) -> None:
        """Raises DatabaseUnusable."""
        self._database = Database(PLACEMENT_DATABASE, url)

    @property
    def address(self) -> str:
        return self._database.address

    def generations(self, providers: Iterable[str] | None = None) -> dict[str, int]:
        wanted = None if providers is None else sorted(set(providers))
        return self._database.ask(lambda session: _Reading(session).generations(wanted))

    def ledger(self) -> Ledger:
        return self._database.ask(lambda session: _Reading(session).ledger())

    def trees(self, uuids: Iterable[str], names: Iterable[str]) -> dict[str, Provider]:
        by_uuid, by_name = sorted(set(uuids)), sorted(set(names))
        return self._database.ask(lambda session: _Reading(session).trees(by_uuid, by_name))

    def children(self, providers: Iterable[str]) -> frozenset[str]:
        wanted = sorted(set(providers))
        return self._database.ask(lambda session: _Reading(session).children(wanted))

    def holders(self, providers: Iterable[str]) -> frozenset[str]:
        wanted = sorted(set(providers))
        return self._database.ask(lambda session: _Reading(session).holders(wanted))

    def faults(self, providers: Iterable[str]) -> tuple[LedgerFault, ...]:
        return self._database.ask(lambda session: _Reading(session).faults())

    def held_of(self, providers: Iterable[str]) -> dict[str, Amounts]:
        wanted = sorted(set(providers))
        return self._database.ask(lambda session: _Reading(session).held_of(wanted))

    def held(self, consumers: Iterable[str]) -> dict[str, Amounts]:
        wanted = sorted(set(consumers))
        return self._database.ask(lambda session: _Reading(session).held(wanted))

    def owners(self, consumers: Iterable[str]) -> dict[str, Owner]:
        wanted = sorted(set(consumers))
        return self._database.ask(lambda session: _Reading(session).owners(wanted))

    def written(self, providers: Iterable[str]) -> dict[str, datetime]:
        wanted = sorted(set(providers))
        return self._database.ask(lambda session: _Reading(session).written(wanted))

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        return self._database.ask(lambda session: _Reading(session).completed(trees))

    def close(self) -> None:
        self._database.close()


class _Reading:
    """The queries of one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def ledger(self) -> Ledger:
        query, key = tables.EVERY_PROVIDER, tables.providers.c.id
        rows = {row.id: row for row in self._session.every_row(query, key)}
        uuids = {number: str(row.uuid) for number, row in rows.items()}
        providers = self._providers(rows, None)
        held = self._session.every_row(tables.EVERY_ALLOCATION, tables.allocations.c.id)
        consumers = amounts_of(held, uuids, self._classes)
        every = self._session.every_row(tables.EVERY_CONSUMER, tables.consumers.c.id)
        owners = owners_of(row for row in every if row.uuid in consumers)
        times = self._session.rows(tables.NEWEST_WRITES)
        written = _times_of(times, uuids)
        return Ledger(providers, consumers, DATABASE, self.faults(), owners, written)

    def faults(self) -> tuple[LedgerFault, ...]:
        key = tables.providers.c.id
        rows = list(self._session.every_row(tables.ALL_PROVIDERS, key))
        uuids = {row.id: str(row.uuid) for row in rows}
        ownerless = self._session.rows(tables.CONSUMERLESS_ALLOCATIONS)
        repeated = self._session.rows(tables.REPEATED_ALLOCATIONS)
        return (
            *(faults.consumerless(ownerless, uuids, self._classes) if ownerless else ()),
            *(faults.repeated(repeated, uuids, self._classes) if repeated else ()),
            *faults.broken_trees(rows),
            *(
                fault
                for (name, kind), query in tables.DANGLING_ROWS.items()
                for fault in faults.dangling(name, kind, self._session.rows(query))
            ),
        )

    def trees(self, uuids: Sequence[str], names: Sequence[str]) -> dict[str, Provider]:
        columns = tables.providers.c
        members = self._provider_rows(columns.uuid, uuids) | self._provider_rows(
            columns.name, names
        )
        roots = sorted({row.root_provider_id for row in members.values()})
        rows = self._provider_rows(columns.root_provider_id, roots).values()
        return {row.uuid: provider_of(row) for row in rows}

    def generations(self, wanted: Sequence[str] | None) -> dict[str, int]:
        columns = tables.providers.c
        if wanted is None:
            newest = tables.EVERY_PROVIDER.order_by(columns.generation.desc(), columns.id)
            rows: Iterable[Row] = self._session.rows(newest.limit(SAMPLE))
        else:
            rows = self._provider_rows(columns.uuid, wanted).values()
        return {row.uuid: row.generation for row in rows if isinstance(row.generation, int)}

    def children(self, providers: Sequence[str]) -> frozenset[str]:
        columns = tables.providers.c
        numbers = sorted(self._provider_rows(columns.uuid, providers))
        below = self._provider_rows(columns.parent_provider_id, numbers).values()
        return frozenset(row.uuid for row in below)

    def holders(self, providers: Sequence[str]) -> frozenset[str]:
        allocations = tables.allocations.c
        numbers = sorted(self._provider_rows(tables.providers.c.uuid, providers))
        query = tables.EVERY_ALLOCATION.with_only_columns(allocations.consumer_id).distinct()
        rows = self._session.rows_of(query, allocations.resource_provider_id, numbers)
        return frozenset(row.consumer_id for row in rows)

    def held_of(self, providers: Sequence[str]) -> dict[str, Amounts]:
        allocations = tables.allocations.c
        rows = self._provider_rows(tables.providers.c.uuid, providers)
        uuids = {number: str(row.uuid) for number, row in rows.items()}
        query, key = tables.EVERY_ALLOCATION, allocations.resource_provider_id
        held = self._session.rows_of(query, key, sorted(uuids))
        return {**amounts_of(held, uuids, self._classes)}

    def held(self, consumers: Sequence[str]) -> dict[str, Amounts]:
        allocations = tables.allocations.c
        rows = [*self._session.rows_of(tables.EVERY_ALLOCATION, allocations.consumer_id, consumers)]
        numbers = sorted({row.resource_provider_id for row in rows})
        providers = self._provider_rows(tables.providers.c.id, numbers)
        uuids = {number: str(row.uuid) for number, row in providers.items()}
        held = amounts_of(rows, uuids, self._classes)
        # A server that compares without case may return other consumers too.
        return {uuid: held[uuid] for uuid in consumers if uuid in held}

    def owners(self, consumers: Sequence[str]) -> dict[str, Owner]:
        wanted = frozenset(consumers)
        found = self._session.rows_of(tables.EVERY_CONSUMER, tables.consumers.c.uuid, consumers)
        return owners_of(row for row in found if row.uuid in wanted)

    def written(self, providers: Sequence[str]) -> dict[str, datetime]:
        rows = self._provider_rows(tables.providers.c.uuid, providers)
        uuids = {number: str(row.uuid) for number, row in rows.items()}
        key = tables.allocations.c.resource_provider_id
        times = self._session.rows_of(tables.NEWEST_WRITES, key, sorted(uuids))
        return _times_of(times, uuids)

    def completed(self, trees: Mapping[str, Provider]) -> dict[str, Provider]:
        columns = tables.providers.c
        sharing = [row.resource_provider_id for row in self._session.rows(tables.EVERY_SHARING)]
        rows = self._provider_rows(columns.id, sharing)
        rows |= self._provider_rows(columns.uuid, sorted(trees))
        roots = frozenset(row.root for row in trees.values())
        return within_trees(self._providers(rows, sorted(rows)), roots)

    def _provider_rows(self, column: ColumnElement[Any], wanted: Sequence[Any]) -> dict[int, Row]:
        rows = self._session.rows_of(tables.EVERY_PROVIDER, column, wanted)
        return {row.id: row for row in rows}

    def _providers(
        self, rows: Mapping[int, Row], numbers: Sequence[int] | None
    ) -> dict[str, Provider]:
        """By UUID, these providers with inventories and aggregates; `numbers` is None for all."""
        inventories = inventories_of(
            self._rows_of(select(tables.inventories), tables.inventories, numbers), self._classes
        )
        traits = names_of(self._rows_of(tables.EVERY_TRAIT, tables.provider_traits, numbers))
        aggregates = names_of(
            self._rows_of(tables.EVERY_AGGREGATE, tables.provider_aggregates, numbers)
        )
        providers = [
            provider_of(
                row,
                inventories.get(number, {}),
                traits.get(number, NOTHING),
                aggregates.get(number, NOTHING),
            )
            for number, row in rows.items()
        ]
        sharing = [row.uuid for row in providers if SHARING_TRAIT in (row.traits or NOTHING)]
        by_provider = {row.uuid: row.aggregates or NOTHING for row in providers}
        return with_sharing(providers, members_of_sharing(sharing, by_provider))

    def _rows_of(
        self, query: Select[Any], table: TableClause, numbers: Sequence[int] | None
    ) -> Iterable[Row]:
        """The rows of a query that belong to these providers; all rows if `numbers` is None."""
        key = table.c.resource_provider_id
        if numbers is None:
            return self._session.every_row(query, key)
        return self._session.rows_of(query, key, numbers)

    @cached_property
    def _classes(self) -> dict[int, str]:
        return {row.id: row.name for row in self._session.rows(select(tables.resource_classes))}


def _times_of(rows: Iterable[Row], uuids: Mapping[int, str]) -> dict[str, datetime]:
    """Times from rows of NEWEST_WRITES, by the provider's uuid."""
    return {
        uuids[row.resource_provider_id]: row.written
        for row in rows
        if row.written is not None and row.resource_provider_id in uuids
    }
