# SPDX-License-Identifier: Apache-2.0
"""Which providers have which traits."""

from collections.abc import Collection

from sqlalchemy import delete, func, insert, select

from trueup.model.providers import Provider
from trueup.placement.store.database import Transaction
from trueup.placement.store.tables import provider_traits, traits
from trueup.placement.store.vocabulary import Word


def of_provider(tx: Transaction, provider: Provider) -> list[Word]:
    """The traits of a provider, in the order of the traits' ids."""
    modified = func.coalesce(traits.c.updated_at, traits.c.created_at).label("modified_at")
    query = (
        select(traits.c.id, traits.c.name, modified)
        .join(provider_traits, provider_traits.c.trait_id == traits.c.id)
        .where(provider_traits.c.resource_provider_id == provider.id)
        .order_by(traits.c.id)
    )
    return [Word(row.id, row.name, row.modified_at) for row in tx.execute(query)]


def insert_traits(tx: Transaction, provider: Provider, trait_ids: Collection[int]) -> None:
    """Add traits that the provider does not have."""
    if trait_ids:
        rows = [{"resource_provider_id": provider.id, "trait_id": one} for one in trait_ids]
        tx.execute(insert(provider_traits), rows)


def delete_traits(tx: Transaction, provider: Provider, trait_ids: Collection[int]) -> None:
    """Take traits from the provider."""
    if trait_ids:
        tx.execute(
            delete(provider_traits).where(
                provider_traits.c.resource_provider_id == provider.id,
                provider_traits.c.trait_id.in_(trait_ids),
            )
        )
