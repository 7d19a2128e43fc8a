# SPDX-License-Identifier: Apache-2.0
"""Giving consumers what they shall hold, and taking it away."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from trueup.model.allocations import (
    ConsumerAllocations,
    Place,
    classes_in,
    providers_in,
    refuse_overcommit,
    refuse_stale_consumers,
    refuse_unknown_classes,
    refuse_unknown_providers,
)
from trueup.model.errors import NothingAllocated
from trueup.model.providers import Provider
from trueup.placement import store
from trueup.placement.store.database import Database, Transaction, retry_on_conflict


@retry_on_conflict
def replace(database: Database, wanted: Sequence[ConsumerAllocations]) -> None:
    """Give each consumer exactly these allocations: to all of them, or to none.

    Raises StaleConsumer, AllocationToUnknownProvider, ResourceClassNotFound or NotAllocatable.
    """
    with database.transaction() as tx:
        # SAFETY: this lock comes before everything that is read.
        providers = store.providers.lock(tx, providers_in(wanted))
        replace_within(tx, wanted, providers)


def replace_within(
    tx: Transaction, wanted: Sequence[ConsumerAllocations], providers: Mapping[str, Provider]
) -> None:
    """The same as a part of a larger transaction, which has locked `providers`."""
    consumer_uuids = [one.consumer_uuid for one in wanted]
    consumers = store.consumers.lock(tx, consumer_uuids)
    held = store.allocations.held_by(tx, consumer_uuids)
    class_ids = store.vocabulary.class_ids(tx, classes_in(wanted))
    stocks = store.inventories.with_usage(tx, providers.values(), class_ids.values())

    refuse_stale_consumers(wanted, consumers)
    refuse_unknown_providers(wanted, providers)
    refuse_unknown_classes(classes_in(wanted), class_ids)
    wanted = _as_stored(wanted, providers)
    refuse_overcommit(wanted, held, stocks)

    emptied = [one.consumer_uuid for one in wanted if not one.amounts]
    filled = [one for one in wanted if one.amounts]
    store.allocations.delete_of(tx, list(held))
    store.consumers.save(tx, filled, consumers)
    store.consumers.delete_consumers(tx, [uuid for uuid in emptied if uuid in consumers])
    known = {provider.uuid: provider for provider in providers.values()}
    store.allocations.insert_allocations(tx, filled, known, class_ids)
    # PARITY: a provider that only loses an allocation keeps its generation, unless the consumer
    # that leaves it gives up everything.
    left = _all_providers(tx, emptied, held)
    store.providers.bump_generations(tx, {one.id for one in [*providers.values(), *left]})


@retry_on_conflict
def delete(database: Database, consumer_uuid: str) -> None:
    """Take everything from a consumer, and forget it. Raises NothingAllocated.

    PARITY: no generation is compared and none is bumped.
    """
    with database.transaction() as tx:
        store.consumers.lock(tx, [consumer_uuid])
        held = store.allocations.held_by(tx, [consumer_uuid])
        if not held:
            raise NothingAllocated(consumer_uuid)
        store.allocations.delete_of(tx, [consumer_uuid])
        store.consumers.delete_consumers(tx, [consumer_uuid])


def _as_stored(
    wanted: Iterable[ConsumerAllocations], providers: Mapping[str, Provider]
) -> list[ConsumerAllocations]:
    """The same with the UUIDs of the ledger: MariaDB finds providers also in the other case."""
    return [
        dataclasses.replace(
            one,
            amounts={
                (providers[uuid].uuid, resource_class): amount
                for (uuid, resource_class), amount in one.amounts.items()
            },
        )
        for one in wanted
    ]


def _all_providers(
    tx: Transaction, emptied: Iterable[str], held: Mapping[str, Mapping[Place, int]]
) -> list[Provider]:
    left = {provider for uuid in emptied for provider, _ in held.get(uuid, {})}
    return list(store.providers.lock(tx, left).values()) if left else []
