# SPDX-License-Identifier: Apache-2.0
"""Replaces and deletes the allocations of consumers."""

import dataclasses
from collections.abc import Collection, Sequence

from trueup.model.allocations import (
    ConsumerAllocations,
    ProviderResource,
    refuse_overcommit,
    refuse_stale_consumers,
    refuse_unknown_names,
)
from trueup.model.errors import NothingAllocated
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.store.reads.claims import ClaimRows


def replace_within(tx: Transaction, wanted: Sequence[ConsumerAllocations]) -> None:
    """Give each consumer exactly these allocations.

    Raises StaleConsumer, AllocationToUnknownProvider, ResourceClassNotFound or NotAllocatable.
    """
    resources = list(dict.fromkeys(resource for change in wanted for resource in change.amounts))
    # SAFETY: this locks the providers before their rows are read.
    store.providers.bump_generations_of(tx, {uuid for uuid, _ in resources})
    found = store.claims.read(tx, wanted, resources)

    refuse_stale_consumers(wanted, found.consumers)
    if not found.inventories.keys() >= set(resources):
        wanted = _named_as_stored(tx, wanted, resources, found)
    refuse_overcommit(wanted, found.held, found.inventories)

    store.consumers.save(tx, wanted, found.consumers, found.owners)
    if found.held:
        store.allocations.delete_of(tx, found.held, found.held_of)
    store.allocations.insert_allocations(tx, wanted, found.provider_ids, found.class_ids)
    # PARITY: a provider that only loses an allocation keeps its generation, unless its consumer
    # loses all allocations.
    left = {
        provider
        for change in wanted
        if not change.amounts
        for provider, _ in found.held.get(change.consumer_uuid, {})
    }
    store.providers.bump_generations_of(tx, left - found.provider_ids.keys())


replace = in_transaction(replace_within)
"""`replace_within` as a transaction of its own."""


@in_transaction
def delete(tx: Transaction, consumer_uuid: str) -> None:
    """Delete a consumer with all its allocations. Raises NothingAllocated.

    PARITY: no generation is compared, and no generation of a provider grows.
    """
    # SAFETY: the consumer is deleted first, which keeps others from adding allocations to it.
    store.consumers.delete_consumer(tx, consumer_uuid)
    if not store.allocations.delete_of_consumer(tx, consumer_uuid):
        raise NothingAllocated(consumer_uuid)


def _named_as_stored(
    tx: Transaction,
    wanted: Sequence[ConsumerAllocations],
    resources: Collection[ProviderResource],
    found: ClaimRows,
) -> Sequence[ConsumerAllocations]:
    """The wanted allocations with the UUIDs as the ledger spells them: MariaDB ignores case.

    Raises AllocationToUnknownProvider or ResourceClassNotFound for an unknown name.
    """
    # Only a name without an inventory may be unknown.
    providers = store.providers.lock_refs(tx, {uuid for uuid, _ in resources})
    names = {resource_class for _, resource_class in resources}
    found.class_ids |= store.class_and_trait_names.class_ids(tx, names - found.class_ids.keys())
    refuse_unknown_names(resources, providers, found.class_ids)
    return [
        dataclasses.replace(
            change,
            amounts={
                (providers[uuid].uuid, resource_class): amount
                for (uuid, resource_class), amount in change.amounts.items()
            },
        )
        for change in wanted
    ]
