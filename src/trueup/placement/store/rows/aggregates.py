# SPDX-License-Identifier: Apache-2.0
"""Which providers are members of which aggregates."""

from collections.abc import Collection

from sqlalchemy import bindparam, delete, insert, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement, inserting
from trueup.placement.store.tables import aggregates, provider_aggregates

_of_provider = provider_aggregates.c.resource_provider_id == bindparam("provider")
_OF_PROVIDER = FixedStatement(
    select(aggregates.c.uuid, aggregates.c.id)
    .join(provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id)
    .where(_of_provider)
    .order_by(aggregates.c.id)
)
_NAMED = ListStatement(
    "uuids",
    lambda uuids: select(aggregates.c.uuid, aggregates.c.id).where(aggregates.c.uuid.in_(uuids)),
)
_INSERTED = inserting(provider_aggregates, "resource_provider_id", "aggregate_id")
_DELETED = ListStatement(
    "ids",
    lambda ids: delete(provider_aggregates).where(
        _of_provider, provider_aggregates.c.aggregate_id.in_(ids)
    ),
)


def of_provider(tx: Transaction, provider: AnyProvider) -> dict[str, int]:
    """The UUIDs of the aggregates of a provider, with their ids."""
    return dict(_OF_PROVIDER.send(tx, {"provider": provider.id}).rows)


def ids_of(tx: Transaction, uuids: Collection[str]) -> list[int]:
    """The ids of these aggregates; those that nobody named before are added."""
    values = {"uuids": list(uuids)}
    rows = _NAMED.send(tx, values).rows
    found = {uuid.lower() for uuid, _ in rows}
    missing = [uuid for uuid in uuids if uuid.lower() not in found]
    if missing:
        if tx.dialect.name == "mysql":
            # MariaDB takes the two cases of a UUID for one and the same.
            missing = list({uuid.lower(): uuid for uuid in missing}.values())
        tx.execute(insert(aggregates), [{"uuid": uuid} for uuid in missing])
        rows = _NAMED.send(tx, values).rows
    return [key for _, key in rows]


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
