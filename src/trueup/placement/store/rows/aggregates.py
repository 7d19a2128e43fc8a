# SPDX-License-Identifier: Apache-2.0
"""Which providers are members of which aggregates."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Integer, Select, bindparam, cast, delete, insert, literal, null, select

from trueup.model.providers import AnyProvider, ProviderRef
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.tables import GENERATION, aggregates, provider_aggregates, providers

_PROVIDER, _MEMBER, _NAMED_KIND = range(3)

_no_generation = cast(null(), Integer)
_provider = select(
    literal(_PROVIDER).label("kind"), providers.c.uuid, providers.c.id, GENERATION
).where(providers.c.uuid == bindparam("provider"))
_members = (
    select(literal(_MEMBER), aggregates.c.uuid, aggregates.c.id, _no_generation)
    .join(provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id)
    .join(providers, providers.c.id == provider_aggregates.c.resource_provider_id)
    .where(providers.c.uuid == bindparam("provider"))
)


def _aggregates_of_uuids(uuids: Any) -> Select[Any]:
    found = select(literal(_NAMED_KIND), aggregates.c.uuid, aggregates.c.id, _no_generation)
    return found.where(aggregates.c.uuid.in_(uuids))


# PERF: one statement for all three; a round trip is a tenth of the whole change.
_KNOWN = FixedStatement(_provider.union_all(_members))
_KNOWN_AND_NAMED = ListStatement(
    "uuids", lambda uuids: _provider.union_all(_members, _aggregates_of_uuids(uuids))
)
_NAMED = ListStatement("uuids", _aggregates_of_uuids)
_INSERTED = inserting(provider_aggregates, "resource_provider_id", "aggregate_id")
_DELETED = ListStatement(
    "ids",
    lambda ids: delete(provider_aggregates).where(
        provider_aggregates.c.resource_provider_id == bindparam("provider"),
        provider_aggregates.c.aggregate_id.in_(ids),
    ),
)


class KnownAggregates(NamedTuple):
    """The rows that a change of a provider's aggregates needs: ids by UUID."""

    provider: ProviderRef
    members: Mapping[str, int]
    """The aggregates that the provider is a member of."""
    named: Mapping[str, int]
    """The existing aggregates that the change names."""


def known(tx: Transaction, provider_uuid: str, uuids: Collection[str]) -> KnownAggregates | None:
    """A provider with its aggregates and those with these UUIDs; None if it does not exist."""
    values = {"provider": provider_uuid}
    if uuids:
        rows = _KNOWN_AND_NAMED.send(tx, {**values, "uuids": list(uuids)}).rows
    else:
        rows = _KNOWN.send(tx, values).rows
    provider: ProviderRef | None = None
    members, named = dict[str, int](), dict[str, int]()
    for kind, uuid, key, generation in rows:
        if kind == _PROVIDER:
            provider = ProviderRef(key, uuid, generation)
        else:
            (members if kind == _MEMBER else named)[uuid] = key
    return KnownAggregates(provider, members, named) if provider else None


def add_missing(
    tx: Transaction, uuids: Collection[str], named: Mapping[str, int]
) -> Collection[int]:
    """Insert the aggregates that are not `named` yet, and return their ids."""
    # MariaDB ignores the case of a UUID.
    folded = str.lower if tx.dialect.name == "mysql" else str
    found = {folded(uuid) for uuid in named}
    missing = list({folded(uuid): uuid for uuid in uuids if folded(uuid) not in found}.values())
    if missing:
        tx.execute(insert(aggregates), [{"uuid": uuid} for uuid in missing])
    return [key for _, _, key, _ in _NAMED.send(tx, {"uuids": missing}).rows]


def insert_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Add a provider to aggregates that it is not a member of."""
    if ids:
        rows = [{"resource_provider_id": provider.id, "aggregate_id": id_} for id_ in ids]
        _INSERTED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def delete_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Remove a provider from these aggregates."""
    if ids:
        _DELETED.send(tx, {"provider": provider.id, "ids": list(ids)})
        note(tx, PROVIDER, [provider.id])
