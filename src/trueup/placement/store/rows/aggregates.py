# SPDX-License-Identifier: Apache-2.0
"""Which providers are members of which aggregates."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, delete, insert, literal, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.tables import aggregates, provider_aggregates

_of_provider = provider_aggregates.c.resource_provider_id == bindparam("provider")
_members = (
    select(aggregates.c.uuid, aggregates.c.id, literal(1).label("is_member"))
    .join(provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id)
    .where(_of_provider)
)


def _named(uuids: Any) -> Select[Any]:
    found = select(aggregates.c.uuid, aggregates.c.id, literal(0))
    return found.where(aggregates.c.uuid.in_(uuids))


_MEMBERS = FixedStatement(_members)
_NAMED = ListStatement("uuids", _named)
_MEMBERS_AND_NAMED = ListStatement("uuids", lambda uuids: _members.union_all(_named(uuids)))
_INSERTED = inserting(provider_aggregates, "resource_provider_id", "aggregate_id")
_DELETED = ListStatement(
    "ids",
    lambda ids: delete(provider_aggregates).where(
        _of_provider, provider_aggregates.c.aggregate_id.in_(ids)
    ),
)


class KnownAggregates(NamedTuple):
    """What a change of the aggregates of a provider has to know: ids by UUID."""

    members: Mapping[str, int]
    """The aggregates that the provider is a member of."""
    named: Mapping[str, int]
    """Those that the change names, and that exist."""


def known(tx: Transaction, provider: AnyProvider, uuids: Collection[str]) -> KnownAggregates:
    """The aggregates of a provider, and those with these UUIDs."""
    values = {"provider": provider.id}
    if uuids:
        rows = _MEMBERS_AND_NAMED.send(tx, {**values, "uuids": list(uuids)}).rows
    else:
        rows = _MEMBERS.send(tx, values).rows
    return KnownAggregates(
        {uuid: key for uuid, key, is_member in rows if is_member},
        {uuid: key for uuid, key, is_member in rows if not is_member},
    )


def add_missing(
    tx: Transaction, uuids: Collection[str], named: Mapping[str, int]
) -> Collection[int]:
    """Add those of these aggregates that are not `named`; their ids."""
    # MariaDB takes the two cases of a UUID for one and the same.
    folded = str.lower if tx.dialect.name == "mysql" else str
    found = {folded(uuid) for uuid in named}
    missing = list({folded(uuid): uuid for uuid in uuids if folded(uuid) not in found}.values())
    if missing:
        tx.execute(insert(aggregates), [{"uuid": uuid} for uuid in missing])
    return [key for _, key, _ in _NAMED.send(tx, {"uuids": missing}).rows]


def insert_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Make the provider a member of aggregates that it is no member of."""
    if ids:
        rows = [{"resource_provider_id": provider.id, "aggregate_id": one} for one in ids]
        _INSERTED.send(tx, rows)
        note(tx, PROVIDER, [provider.id])


def delete_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Let the provider leave these aggregates."""
    if ids:
        _DELETED.send(tx, {"provider": provider.id, "ids": list(ids)})
        note(tx, PROVIDER, [provider.id])
