# SPDX-License-Identifier: Apache-2.0
"""Which providers are members of which aggregates."""

from collections.abc import Collection

from sqlalchemy import bindparam, delete, insert, select

from trueup.model.providers import AnyProvider
from trueup.placement.store.engine.changes import PROVIDER, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.tables import aggregates, provider_aggregates

# PERF: making a statement costs more than sending it, so those of each request are made once.
_OF_PROVIDER = (
    select(aggregates.c.uuid, aggregates.c.id)
    .join(provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id)
    .where(provider_aggregates.c.resource_provider_id == bindparam("provider"))
    .order_by(aggregates.c.id)
)
_NAMED = select(aggregates.c.uuid, aggregates.c.id).where(
    aggregates.c.uuid.in_(bindparam("uuids", expanding=True))
)
_INSERTED = insert(provider_aggregates)
_DELETED = delete(provider_aggregates).where(
    provider_aggregates.c.resource_provider_id == bindparam("provider"),
    provider_aggregates.c.aggregate_id.in_(bindparam("ids", expanding=True)),
)


def of_provider(tx: Transaction, provider: AnyProvider) -> dict[str, int]:
    """The UUIDs of the aggregates of a provider, with their ids."""
    found = tx.execute(_OF_PROVIDER, {"provider": provider.id})
    return {row.uuid: row.id for row in found}


def ids_of(tx: Transaction, uuids: Collection[str]) -> list[int]:
    """The ids of these aggregates; those that nobody named before are added."""
    if not uuids:
        return []
    values = {"uuids": list(uuids)}
    rows = tx.execute(_NAMED, values).all()
    found = {row.uuid.lower() for row in rows}
    missing = [uuid for uuid in uuids if uuid.lower() not in found]
    if missing:
        if tx.dialect.name == "mysql":
            # MariaDB takes the two cases of a UUID for one and the same.
            missing = list({uuid.lower(): uuid for uuid in missing}.values())
        tx.execute(insert(aggregates), [{"uuid": uuid} for uuid in missing])
        rows = tx.execute(_NAMED, values).all()
    return [row.id for row in rows]


def insert_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Make the provider a member of aggregates that it is no member of."""
    if ids:
        rows = [{"resource_provider_id": provider.id, "aggregate_id": one} for one in ids]
        tx.execute(_INSERTED, rows)
        note(tx, PROVIDER, [provider.id])


def delete_memberships(tx: Transaction, provider: AnyProvider, ids: Collection[int]) -> None:
    """Let the provider leave these aggregates."""
    if ids:
        tx.execute(_DELETED, {"provider": provider.id, "ids": list(ids)})
        note(tx, PROVIDER, [provider.id])
