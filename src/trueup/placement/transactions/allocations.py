# SPDX-License-Identifier: Apache-2.0
"""Replacing and deleting the allocations of consumers."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from trueup.model.allocations import (
    ConsumerAllocations,
    refuse_overcommit,
    refuse_stale_consumers,
    refuse_unknown_names,
)
from trueup.model.errors import NothingAllocated
from trueup.model.providers import ProviderRef
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction


def replace_within(tx: Transaction, wanted: Sequence[ConsumerAllocations]) -> None:
    """Give each consumer exactly these allocations: all of them, or none.

    Raises StaleConsumer, AllocationToUnknownProvider, ResourceClassNotFound or NotAllocatable.
    """
    consumer_uuids = [one.consumer_uuid for one in wanted]
    resources = list(dict.fromkeys(resource for one in wanted for resource in one.amounts))
    # SAFETY: the providers are locked before anything else is read.
    providers = store.providers.lock_refs(tx, {uuid for uuid, _ in resources})
    consumers = store.consumers.lock(tx, consumer_uuids)
    held, held_of = store.allocations.held_by(tx, consumer_uuids)
    names = {resource_class for _, resource_class in resources}
    inventories, class_ids = store.inventories.with_usage(tx, providers.values(), names)

    in_other_case = any(uuid != provider.uuid for uuid, provider in providers.items())
    refuse_stale_consumers(wanted, consumers)
    if not inventories.keys() >= set(resources):
        # Only a name without an inventory may be unknown.
        class_ids |= store.class_and_trait_names.class_ids(tx, names - class_ids.keys())
        refuse_unknown_names(resources, providers, class_ids)
    if in_other_case:
        wanted = _as_stored(wanted, providers)
    refuse_overcommit(wanted, held, inventories)

    changed = {provider.uuid: provider.id for provider in providers.values()}
    filled = [one for one in wanted if one.amounts]
    if held:
        store.allocations.delete_of(tx, held, held_of)
    if filled:
        store.consumers.save(tx, filled, consumers)
        store.allocations.insert_allocations(tx, filled, changed, class_ids)
    emptied = [one.consumer_uuid for one in wanted if not one.amounts]
    if emptied:
        store.consumers.delete_consumers(tx, [uuid for uuid in emptied if uuid in consumers])
        # PARITY: a provider that only loses an allocation keeps its generation, unless its
        # consumer loses all allocations.
        left = {provider for uuid in emptied for provider, _ in held.get(uuid, {})}
        changed |= {one.uuid: one.id for one in store.providers.lock_refs(tx, left).values()}
    if changed:
        store.providers.bump_generations(tx, set(changed.values()))


replace = in_transaction(replace_within)
"""The same, as a transaction of its own."""


@in_transaction
def delete(tx: Transaction, consumer_uuid: str) -> None:
    """Delete a consumer with all its allocations. Raises NothingAllocated.

    PARITY: no generation is compared, and no generation of a provider grows.
    """
    store.consumers.lock(tx, [consumer_uuid])
    held, held_of = store.allocations.held_by(tx, [consumer_uuid])
    if not held:
        raise NothingAllocated(consumer_uuid)
    store.allocations.delete_of(tx, held, held_of)
    store.consumers.delete_consumers(tx, [consumer_uuid])


def _as_stored(
    wanted: Iterable[ConsumerAllocations], providers: Mapping[str, ProviderRef]
) -> list[ConsumerAllocations]:
    """The same with the UUIDs as the ledger spells them: MariaDB ignores case."""
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
