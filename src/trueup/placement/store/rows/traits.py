# SPDX-License-Identifier: Apache-2.0
"""Which providers have which traits."""

from collections.abc import Collection

from sqlalchemy import bindparam, delete, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.tables import provider_traits

_of_provider = provider_traits.c.resource_provider_id == bindparam("provider")
_IDS = FixedStatement(select(provider_traits.c.trait_id).where(_of_provider))
_INSERTED = inserting(provider_traits, "resource_provider_id", "trait_id")
_DELETED = ListStatement(
    "ids",
    lambda ids: delete(provider_traits).where(_of_provider, provider_traits.c.trait_id.in_(ids)),
)


def ids_of_provider(tx: Transaction, provider: AnyProvider) -> set[int]:
    """The ids of the traits of a provider."""
    return {key for (key,) in _IDS.send(tx, {"provider": provider.id}).rows}


def insert_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Add traits that the provider does not have."""
    if trait_ids:
        rows = [{"resource_provider_id": provider.id, "trait_id": one} for one in trait_ids]
        _INSERTED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def delete_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Take traits from the provider."""
    if trait_ids:
        _DELETED.send(tx, {"provider": provider.id, "ids": list(trait_ids)})
        note(tx, PROVIDER, [provider.id])
