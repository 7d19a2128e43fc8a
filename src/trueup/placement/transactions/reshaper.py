# SPDX-License-Identifier: Apache-2.0
"""Moves inventories and allocations between providers in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trueup.model.allocations import ConsumerAllocations
from trueup.model.errors import ReshapeOfUnknownProvider
from trueup.model.inventories import Inventory
from trueup.model.providers import AnyProvider, refuse_stale_provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.transactions.allocations import replace_within
from trueup.placement.transactions.inventories import replace_all_within


@dataclass(frozen=True, slots=True)
class WantedInventories:
    """All inventories that a provider is to have, and its expected generation."""

    provider_uuid: str
    expected_generation: int
    inventories: tuple[Inventory, ...]


@in_transaction
def reshape(
    tx: Transaction,
    inventories: Sequence[WantedInventories],
    allocations: Sequence[ConsumerAllocations],
) -> None:
    """Give providers these inventories and consumers these allocations.

    Raises ReshapeOfUnknownProvider, StaleProvider, and the errors of the transactions of
    inventories and of allocations. New inventories are added before the allocations move, and old
    ones are deleted after that.
    """
    reshaped = [change.provider_uuid for change in inventories]
    claimed = {provider for consumer in allocations for provider, _ in consumer.amounts}
    # SAFETY: the providers are locked before anything else is read.
    known = store.providers.lock(tx, claimed.union(reshaped))

    _refuse_unseen(inventories, known)

    for change in inventories:
        _grow(tx, known[change.provider_uuid], change.inventories)
    replace_within(tx, allocations)
    for change in inventories:
        replace_all_within(tx, known[change.provider_uuid], change.inventories)
    store.providers.bump_generations(tx, [known[uuid].id for uuid in reshaped])


def _refuse_unseen(
    inventories: Sequence[WantedInventories], known: Mapping[str, AnyProvider]
) -> None:
    for change in inventories:
        if change.provider_uuid not in known:
            raise ReshapeOfUnknownProvider(change.provider_uuid)
        refuse_stale_provider(known[change.provider_uuid], change.expected_generation)


def _grow(tx: Transaction, provider: AnyProvider, wanted: Sequence[Inventory]) -> None:
    """Add the new inventories to the provider beside those that will go.

    PARITY: this step alone raises the generation of the provider.
    """
    if wanted:
        present = store.inventories.of_provider(tx, provider)
        merged = present | {inventory.resource_class: inventory for inventory in wanted}
        replace_all_within(tx, provider, list(merged.values()))
        store.providers.bump_generations(tx, [provider.id])
