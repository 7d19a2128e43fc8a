# SPDX-License-Identifier: Apache-2.0
"""Replaces the aggregates of a provider."""

from collections.abc import Collection

from trueup.model.errors import ProviderNotFound
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.providers import refuse_stale_provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction


@in_transaction
def replace(
    tx: Transaction, uuid: str, aggregates: Collection[str], expected: ExpectedGeneration
) -> int:
    """Make the provider a member of exactly these aggregates, and return its generation.

    Raises ProviderNotFound or StaleProvider.
    PARITY: clients that cannot send a generation do not change it either.
    """
    raised_by = 0 if expected is UNCHECKED else 1
    # SAFETY: both lock the provider before its rows are read.
    if raised_by:
        store.providers.bump_generations_of(tx, [uuid])
    else:
        store.providers.lock_refs(tx, [uuid])
    known = store.aggregates.known(tx, uuid, aggregates)
    if known is None:
        raise ProviderNotFound(uuid)
    provider = known.provider
    refuse_stale_provider(provider, expected, raised_by=raised_by)

    members = set(known.members.values())
    wanted = {*known.named.values(), *store.aggregates.add_missing(tx, aggregates, known.named)}
    if raised_by:
        store.providers.note_generations(tx, [provider.id])
    else:
        # SAFETY: without the generation, no other write conflicts with a deletion of the provider
        # on another node of a cluster.
        store.lock_rows.take(tx, store.lock_rows.PROVIDER, [provider.id])
    store.aggregates.delete_memberships(tx, provider, members - wanted)
    store.aggregates.insert_memberships(tx, provider, sorted(wanted - members))
    return provider.generation
