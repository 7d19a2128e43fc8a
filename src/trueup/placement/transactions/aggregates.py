# SPDX-License-Identifier: Apache-2.0
"""Replacing the aggregates of a provider."""

from collections.abc import Collection

from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.providers import refuse_stale_provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.transactions.gather import locked_provider


@in_transaction
def replace(
    tx: Transaction, uuid: str, aggregates: Collection[str], expected: ExpectedGeneration
) -> int:
    """Make the provider a member of exactly these aggregates; its generation.

    Raises ProviderNotFound or StaleProvider.
    PARITY: clients that cannot quote a generation do not change it either.
    """
    provider = locked_provider(tx, uuid)
    refuse_stale_provider(provider, expected)
    present = store.aggregates.of_provider(tx, provider)
    wanted = set(store.aggregates.ids_of(tx, [a for a in aggregates if a not in present]))
    kept = {present[a] for a in aggregates if a in present}

    left = set(present.values()) - kept - wanted
    if expected is UNCHECKED:
        # SAFETY: nothing else of it is written that would tell another node of a cluster, where
        # it may be deleted at the same time.
        store.lock_rows.take(tx, store.lock_rows.PROVIDER, [provider.id])
    store.aggregates.delete_memberships(tx, provider, left)
    store.aggregates.insert_memberships(tx, provider, sorted(wanted - set(present.values())))
    if expected is UNCHECKED:
        return provider.generation
    store.providers.bump_generations(tx, [provider.id])
    return provider.generation + 1
