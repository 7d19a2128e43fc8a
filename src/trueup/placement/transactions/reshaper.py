# SPDX-License-Identifier: Apache-2.0
"""Moving inventories and allocations between providers in one transaction."""

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
    """Give providers these inventories and consumers these allocations: all of it, or nothing.

    Raises ReshapeOfUnknownProvider, StaleProvider, and what the transactions of inventories and of
    allocations raise. New inventories are added before the allocations move, and old ones are
    deleted after that.
    """
    reshaped = [one.provider_uuid for one in inventories]
    claimed = {provider for one in allocations for provider, _ in one.amounts}
    # SAFETY: the providers are locked before anything else is read.
    known = store.providers.lock(tx, claimed.union(reshaped))

    _refuse_unseen(inventories, known)

    for one in inventories:
        _grow(tx, known[one.provider_uuid], one.inventories)
    replace_within(tx, allocations)
    for one in inventories:
        replace_all_within(tx, known[one.provider_uuid], one.inventories)
    store.providers.bump_generations(tx, [known[uuid].id for uuid in reshaped])


def _refuse_unseen(
    inventories: Sequence[WantedInventories], known: Mapping[str, AnyProvider]
) -> None:
    for one in inventories:
        if one.provider_uuid not in known:
            raise ReshapeOfUnknownProvider(one.provider_uuid)
        refuse_stale_provider(known[one.provider_uuid], one.expected_generation)


def _grow(tx: Transaction, provider: AnyProvider, wanted: Sequence[Inventory]) -> None:
    """Let the provider have the new inventories beside those that will go.

    PARITY: this step alone counts as a change of the provider.
    """
    if wanted:
        present = store.inventories.of_provider(tx, provider)
        merged = present | {inventory.resource_class: inventory for inventory in wanted}
        replace_all_within(tx, provider, list(merged.values()))
        store.providers.bump_generations(tx, [provider.id])
