# SPDX-License-Identifier: Apache-2.0
"""Which providers have which traits."""

from collections.abc import Collection

from sqlalchemy import bindparam, delete, insert, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import provider_traits

# PERF: making a statement costs more than sending it, so those of each request are made once.
_IDS = select(provider_traits.c.trait_id).where(
    provider_traits.c.resource_provider_id == bindparam("provider")
)
_INSERTED = insert(provider_traits)
_DELETED = delete(provider_traits).where(
    provider_traits.c.resource_provider_id == bindparam("provider"),
    provider_traits.c.trait_id.in_(bindparam("ids", expanding=True)),
)


def ids_of_provider(tx: Transaction, provider: AnyProvider) -> set[int]:
    """The ids of the traits of a provider."""
    return set(tx.scalars(_IDS, {"provider": provider.id}))


def insert_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Add traits that the provider does not have."""
    if trait_ids:
        rows = [{"resource_provider_id": provider.id, "trait_id": one} for one in trait_ids]
        tx.execute(_INSERTED, rows)
        note(tx, PROVIDER, [provider.id])


def delete_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Take traits from the provider."""
    if trait_ids:
        tx.execute(_DELETED, {"provider": provider.id, "ids": list(trait_ids)})
        note(tx, PROVIDER, [provider.id])
