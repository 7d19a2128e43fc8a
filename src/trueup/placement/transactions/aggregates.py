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
    known = store.aggregates.known(tx, provider, aggregates)
    members = set(known.members.values())
    wanted = {*known.named.values(), *store.aggregates.add_missing(tx, aggregates, known.named)}

    if expected is UNCHECKED:
        # SAFETY: nothing else of it is written that would tell another node of a cluster, where
        # it may be deleted at the same time.
        store.lock_rows.take(tx, store.lock_rows.PROVIDER, [provider.id])
    store.aggregates.delete_memberships(tx, provider, members - wanted)
    store.aggregates.insert_memberships(tx, provider, sorted(wanted - members))
    if expected is UNCHECKED:
        return provider.generation
    store.providers.bump_generations(tx, [provider.id])
    return provider.generation + 1
