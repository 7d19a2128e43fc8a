# SPDX-License-Identifier: Apache-2.0
"""Which providers are members of which aggregates."""

from collections.abc import Collection

from sqlalchemy import delete, insert, select

from trueup.model.providers import Provider
from trueup.placement.store.database import Transaction
from trueup.placement.store.tables import aggregates, provider_aggregates


def of_provider(tx: Transaction, provider: Provider) -> dict[str, int]:
    """The UUIDs of the aggregates of a provider, with their ids."""
    query = (
        select(aggregates.c.uuid, aggregates.c.id)
        .join(provider_aggregates, provider_aggregates.c.aggregate_id == aggregates.c.id)
        .where(provider_aggregates.c.resource_provider_id == provider.id)
        .order_by(aggregates.c.id)
    )
    return {row.uuid: row.id for row in tx.execute(query)}


def ids_of(tx: Transaction, uuids: Collection[str]) -> list[int]:
    """The ids of these aggregates; those that nobody named before are added."""
    if not uuids:
        return []
    query = select(aggregates.c.uuid, aggregates.c.id).where(aggregates.c.uuid.in_(uuids))
    found = {row.uuid.lower() for row in tx.execute(query)}
    missing = [uuid for uuid in uuids if uuid.lower() not in found]
    if missing:
        tx.execute(insert(aggregates), [{"uuid": uuid} for uuid in missing])
    return [row.id for row in tx.execute(query)]


def insert_memberships(tx: Transaction, provider: Provider, ids: Collection[int]) -> None:
    """Make the provider a member of aggregates that it is no member of."""
    if ids:
        rows = [{"resource_provider_id": provider.id, "aggregate_id": one} for one in ids]
        tx.execute(insert(provider_aggregates), rows)


def delete_memberships(tx: Transaction, provider: Provider, ids: Collection[int]) -> None:
    """Let the provider leave these aggregates."""
    if ids:
        tx.execute(
            delete(provider_aggregates).where(
                provider_aggregates.c.resource_provider_id == provider.id,
                provider_aggregates.c.aggregate_id.in_(ids),
            )
        )
