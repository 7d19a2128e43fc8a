# SPDX-License-Identifier: Apache-2.0
"""A rebuilt ledger as the store takes it, as a file keeps it, and as a database has it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace

from trueup.placement.store.engine import availability
from trueup.placement.store.fill import FilledConsumer, FilledProvider
from trueup.reconcile.copies.ledger_copy import LedgerCopy, ProviderCopy
from trueup.reconcile.facts import Allocations, Facts, Provider
from trueup.reconcile.runbooks.rebuild import Rebuilt
from trueup.reconcile.runbooks.rebuild_consumers import NOBODY
from trueup.reconcile.sources.errors import DatabaseUnusable, Unreachable
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.database import PlacementDatabase
from trueup.reconcile.steps import InventoryFields

_NEW = "the new database"


@contextmanager
def new_database() -> Iterator[None]:
    """What is wrong with the new database, as with any other source.

    Raises DatabaseUnusable and Unreachable.
    """
    try:
        yield
    except availability.UrlUnusable as error:
        raise DatabaseUnusable(_NEW, str(error)) from error
    except availability.DatabaseError as error:
        raise Unreachable(_NEW, availability.reason(error)) from error


def ledger_in(url: str) -> Ledger:
    """The whole ledger of a database. Raises Unreachable."""
    database = PlacementDatabase(url)
    try:
        return database.ledger()
    finally:
        database.close()


def holds(found: Ledger, made: Rebuilt) -> bool:
    """Whether a database holds the new ledger. Generations may have grown since."""
    right = {uuid: held.amounts for uuid, held in made.allocations.items()}
    return _comparable(found.providers) == _comparable(made.facts.providers) and (
        dict(found.consumers) == right
    )


def _comparable(providers: Mapping[str, Provider]) -> dict[str, Provider]:
    nothing: frozenset[str] = frozenset()
    return {
        uuid: replace(
            row, generation=0, traits=row.traits or nothing, aggregates=row.aggregates or nothing
        )
        for uuid, row in providers.items()
    }


def providers_to_fill(made: Rebuilt) -> Iterator[FilledProvider]:
    """The new providers as the store takes them."""
    for row in made.facts.providers.values():
        yield FilledProvider(
            row.uuid,
            row.name,
            row.parent,
            row.generation,
            {name: asdict(inventory) for name, inventory in row.inventories.items()},
            row.traits or frozenset(),
            row.aggregates or frozenset(),
        )


def consumers_to_fill(made: Rebuilt) -> Iterator[FilledConsumer]:
    """The new consumers as the store takes them."""
    for uuid, held in made.allocations.items():
        yield FilledConsumer(uuid, held.project, held.user, held.consumer_type, held.amounts)


def copy_of(facts: Facts) -> LedgerCopy:
    """The old ledger as `trueup ledger export` keeps it, without types of consumers."""
    depth = {uuid: _depth(uuid, facts) for uuid in facts.providers}
    ordered = sorted(facts.providers.values(), key=lambda row: (depth[row.uuid], row.uuid))
    providers = tuple(
        ProviderCopy(
            row.uuid,
            row.name,
            row.parent,
            {
                name: InventoryFields(**asdict(inventory))
                for name, inventory in row.inventories.items()
            },
            tuple(sorted(row.traits or ())),
            tuple(sorted(row.aggregates or ())),
        )
        for row in ordered
    )
    consumers = {}
    for uuid, amounts in sorted(facts.consumers.items()):
        owner = facts.owners.get(uuid)
        project, user = (owner.project, owner.user) if owner else (NOBODY, NOBODY)
        consumers[uuid] = Allocations(amounts, project, user)
    return LedgerCopy(providers, consumers)


def _depth(uuid: str, facts: Facts) -> int:
    depth, parent = 0, facts.providers[uuid].parent
    while parent is not None and parent in facts.providers:
        depth, parent = depth + 1, facts.providers[parent].parent
    return depth
