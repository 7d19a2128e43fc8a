# SPDX-License-Identifier: Apache-2.0
"""Creates and deletes traits, and replaces the traits of a provider."""

from collections.abc import Sequence
from datetime import datetime

from trueup.model.errors import StandardTrait, TraitInUse, TraitNotFound, TraitsNotFound
from trueup.model.generations import UNCHECKED, ExpectedGeneration
from trueup.model.names import is_custom
from trueup.model.providers import refuse_stale_provider
from trueup.placement import store
from trueup.placement.store.engine.database import Transaction, in_transaction
from trueup.placement.store.rows.class_and_trait_names import NamedRow
from trueup.placement.transactions.gather import locked_provider


@in_transaction
def create(tx: Transaction, name: str) -> tuple[bool, datetime | None]:
    """Create a trait unless it exists; return whether it is new, and its time of change."""
    known = store.class_and_trait_names.trait(tx, name)
    if known is None:
        store.class_and_trait_names.insert_trait(tx, name)
    return known is None, known.modified_at if known else None


@in_transaction
def delete(tx: Transaction, name: str) -> None:
    """Delete a custom trait. Raises TraitNotFound, StandardTrait or TraitInUse."""
    known = store.class_and_trait_names.trait(tx, name)

    if known is None:
        raise TraitNotFound(name)
    if not is_custom(name):
        raise StandardTrait(name)
    if store.class_and_trait_names.is_trait_used(tx, known):
        raise TraitInUse(name)

    store.class_and_trait_names.delete_trait(tx, known)


@in_transaction
def replace(
    tx: Transaction, uuid: str, names: Sequence[str], expected: ExpectedGeneration = UNCHECKED
) -> tuple[int, list[NamedRow]]:
    """Give the provider exactly these traits; return its generation, and the traits.

    Raises ProviderNotFound, StaleProvider or TraitsNotFound. Without a change the generation stays.
    """
    provider = locked_provider(tx, uuid)
    known = store.traits.known(tx, provider, set(names))

    refuse_stale_provider(provider, expected)
    unknown = [name for name in dict.fromkeys(names) if name not in known.named]
    if unknown:
        raise TraitsNotFound(tuple(unknown))

    wanted = {word.id for word in known.named.values()}
    if wanted == known.present:
        return provider.generation, list(known.named.values())
    store.traits.delete_traits(tx, provider, known.present - wanted)
    store.traits.insert_traits(tx, provider, sorted(wanted - known.present))
    store.providers.bump_generations(tx, [provider.id])
    return provider.generation + 1, list(known.named.values())
