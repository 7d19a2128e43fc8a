# SPDX-License-Identifier: Apache-2.0
"""Giving consumers what they shall hold, and taking it away."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from trueup.model.allocations import (
    ConsumerAllocations,
    refuse_overcommit,
    refuse_stale_consumers,
    refuse_unknown_names,
)
from trueup.model.errors import NothingAllocated
from trueup.model.providers import KnownProvider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction


def replace_within(tx: Transaction, wanted: Sequence[ConsumerAllocations]) -> None:
    """Give each consumer exactly these allocations: to all of them, or to none.

    Raises StaleConsumer, AllocationToUnknownProvider, ResourceClassNotFound or NotAllocatable.
    """
    consumer_uuids = [one.consumer_uuid for one in wanted]
    places = list(dict.fromkeys(place for one in wanted for place in one.amounts))
    # SAFETY: this lock comes before everything that is read.
    providers = store.providers.lock_known(tx, {uuid for uuid, _ in places})
    consumers = store.consumers.lock(tx, consumer_uuids)
    held = store.allocations.held_by(tx, consumer_uuids)
    names = {resource_class for _, resource_class in places}
    stocks, class_ids = store.inventories.with_usage(tx, providers.values(), names)
    if names - class_ids.keys():
        class_ids |= store.class_and_trait_names.class_ids(tx, names - class_ids.keys())

    refuse_stale_consumers(wanted, consumers)
    refuse_unknown_names(places, providers, class_ids)
    if any(uuid != provider.uuid for uuid, provider in providers.items()):
        wanted = _as_stored(wanted, providers)
    refuse_overcommit(wanted, held, stocks)

    changed = {provider.uuid: provider.id for provider in providers.values()}
    filled = [one for one in wanted if one.amounts]
    if held:
        store.allocations.delete_of(tx, held)
    if filled:
        store.consumers.save(tx, filled, consumers)
        store.allocations.insert_allocations(tx, filled, changed, class_ids)
    emptied = [one.consumer_uuid for one in wanted if not one.amounts]
    if emptied:
        store.consumers.delete_consumers(tx, [uuid for uuid in emptied if uuid in consumers])
        # PARITY: a provider that only loses an allocation keeps its generation, unless the
        # consumer that leaves it gives up everything.
        left = {provider for uuid in emptied for provider, _ in held.get(uuid, {})}
        changed |= {one.uuid: one.id for one in store.providers.lock_known(tx, left).values()}
    if changed:
        store.providers.bump_generations(tx, set(changed.values()))


replace = in_transaction(replace_within)
"""The same as a transaction of its own."""


@in_transaction
def delete(tx: Transaction, consumer_uuid: str) -> None:
    """Take everything from a consumer, and forget it. Raises NothingAllocated.

    PARITY: no generation is compared and none is bumped.
    """
    store.consumers.lock(tx, [consumer_uuid])
    held = store.allocations.held_by(tx, [consumer_uuid])
    if not held:
        raise NothingAllocated(consumer_uuid)
    store.allocations.delete_of(tx, [consumer_uuid])
    store.consumers.delete_consumers(tx, [consumer_uuid])


def _as_stored(
    wanted: Iterable[ConsumerAllocations], providers: Mapping[str, KnownProvider]
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
