# SPDX-License-Identifier: Apache-2.0
"""Allocations of a class whose inventory the provider has lost.

They are listed as allocations, are missing from usages, and keep the provider from being deleted.
They have no repair: the allocations may be in use, and the amounts of the inventory are lost.
"""

from collections.abc import Sequence

from sqlalchemy import and_, func, select

from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.fsck.findings import Finding, Incomplete
from trueup.placement.store.tables import allocations, inventories, providers, resource_classes

DEFECT = "allocation_without_inventory"


def find(tx: Transaction) -> list[Finding]:
    """One finding for each provider and class."""
    inventory = select(inventories.c.id).where(
        and_(
            inventories.c.resource_provider_id == allocations.c.resource_provider_id,
            inventories.c.resource_class_id == allocations.c.resource_class_id,
        )
    )
    query = (
        select(
            providers.c.uuid,
            resource_classes.c.name,
            func.sum(allocations.c.used).label("used"),
            func.count(allocations.c.consumer_id.distinct()).label("consumers"),
        )
        .join_from(allocations, providers, allocations.c.resource_provider_id == providers.c.id)
        .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
        .where(~inventory.exists())
        .group_by(providers.c.uuid, resource_classes.c.name)
        .order_by(providers.c.uuid, resource_classes.c.name)
    )
    return [
        Finding(
            defect=DEFECT,
            subject=f"provider {row.uuid}",
            evidence=f"{row.consumers} consumers hold {int(row.used)} {row.name}, "
            "and it has no such inventory",
            remedy="none: put the inventory back (nova-compute reports it), or release the "
            "allocations through the API",
            repairable=False,
        )
        for row in tx.execute(query)
    ]


def repair(_tx: Transaction, _findings: Sequence[Finding], _incomplete: Incomplete) -> None:
    """Do nothing: no finding is repairable."""
