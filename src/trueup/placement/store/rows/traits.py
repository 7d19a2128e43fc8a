# SPDX-License-Identifier: Apache-2.0
"""Which providers have which traits."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import String, bindparam, cast, delete, func, null, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.packed_rows import packed_group, rows_of, time_of
from trueup.placement.store.rows.class_and_trait_names import NamedRow
from trueup.placement.store.tables import provider_traits, traits

_of_provider = provider_traits.c.resource_provider_id == bindparam("provider")
_ids = select(func.aggregate_strings(cast(provider_traits.c.trait_id, String(20)), ",")).where(
    _of_provider
)
_modified_at = func.coalesce(traits.c.updated_at, traits.c.created_at)
_named = select(packed_group(traits.c.id, _modified_at, traits.c.name))
_PRESENT = FixedStatement(select(_ids.scalar_subquery(), null()))
_PRESENT_AND_NAMED = ListStatement(
    "names",
    lambda names: select(
        _ids.scalar_subquery(), _named.where(traits.c.name.in_(names)).scalar_subquery()
    ),
)
_INSERTED = inserting(provider_traits, "resource_provider_id", "trait_id")
_DELETED = ListStatement(
    "ids",
    lambda ids: delete(provider_traits).where(_of_provider, provider_traits.c.trait_id.in_(ids)),
)


class KnownTraits(NamedTuple):
    """The rows that a change of a provider's traits needs."""

    present: frozenset[int]
    """The ids of the traits that the provider has."""
    named: Mapping[str, NamedRow]
    """The existing traits that the change names, in the order of their ids."""


def known(tx: Transaction, provider: AnyProvider, names: Collection[str]) -> KnownTraits:
    """The traits of a provider, and those with these names."""
    statement = _PRESENT_AND_NAMED if names else _PRESENT
    ((ids, text),) = statement.send(tx, {"provider": provider.id, "names": list(names)}).rows
    named = {
        name: NamedRow(int(key), name, time_of(modified_at))
        for key, modified_at, name in rows_of([text], 3)
        # MariaDB compares names without regard to case; the ledger does not.
        if name in names
    }
    return KnownTraits(frozenset(map(int, ids.split(","))) if ids else frozenset(), named)


def insert_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Add traits that the provider does not have."""
    if trait_ids:
        rows = [{"resource_provider_id": provider.id, "trait_id": id_} for id_ in trait_ids]
        _INSERTED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def delete_traits(tx: Transaction, provider: AnyProvider, trait_ids: Collection[int]) -> None:
    """Remove traits from a provider."""
    if trait_ids:
        _DELETED.send(tx, {"provider": provider.id, "ids": list(trait_ids)})
        note(tx, PROVIDER, [provider.id])
