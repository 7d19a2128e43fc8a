# SPDX-License-Identifier: Apache-2.0
"""Documents of Placement's API → facts. Raises Unreachable for other text. No requests here."""

from typing import Any

from trueup.reconcile.facts import Allocations, Amounts, Holding, Inventory, Owner, Provider
from trueup.reconcile.sources.http import well_formed

PLACEMENT = "Placement"
# Placement's API reports this type for a consumer without a type. A write may not contain it.
UNKNOWN_TYPE = "unknown"


def providers(document: Any) -> list[Provider]:
    """The listed providers, without inventories."""
    with well_formed(PLACEMENT):
        return [
            Provider(
                uuid=row["uuid"],
                name=row["name"] or "",
                generation=row["generation"] or 0,
                root=row["root_provider_uuid"],
                parent=row["parent_provider_uuid"],
                inventories={},
            )
            for row in document["resource_providers"]
            # Upstream's service does not list a provider without a root; Trueup's does.
            if row["root_provider_uuid"] is not None
        ]


def inventories(document: Any) -> dict[str, Inventory]:
    """A provider's inventories, by resource class."""
    with well_formed(PLACEMENT):
        return {
            name: Inventory(
                total=row["total"],
                reserved=row["reserved"],
                allocation_ratio=row["allocation_ratio"],
                min_unit=row["min_unit"],
                max_unit=row["max_unit"],
                step_size=row["step_size"],
            )
            for name, row in document["inventories"].items()
        }


def allocations(document: Any) -> Amounts:
    """Amounts: those on a provider by consumer, or those of a consumer by provider."""
    with well_formed(PLACEMENT):
        return {uuid: row["resources"] for uuid, row in document["allocations"].items()}


def usages(document: Any) -> dict[str, int]:
    """How much of each resource class of a provider is in use."""
    with well_formed(PLACEMENT):
        return {name: int(amount) for name, amount in document["usages"].items()}


def generation(document: Any) -> int:
    """The generation of the provider that a document is about."""
    with well_formed(PLACEMENT):
        # PARITY: NULL in the database, which is only written by hand, counts as 0.
        return int(document["resource_provider_generation"] or 0)


def traits(document: Any) -> frozenset[str]:
    """The traits of a provider."""
    with well_formed(PLACEMENT):
        return frozenset(document["traits"])


def aggregates(document: Any) -> tuple[str, ...]:
    """The aggregates of a provider; "" for an aggregate whose uuid is NULL in the database."""
    with well_formed(PLACEMENT):
        return tuple(uuid or "" for uuid in document["aggregates"])


def owner(document: Any) -> Owner:
    """The owner in the allocations of a consumer, which must not be empty."""
    with well_formed(PLACEMENT):
        return Owner(document["project_id"], document["user_id"])


def holding(document: Any) -> Holding:
    """The allocations of a consumer, with its owner and generation."""
    if not (amounts := allocations(document)):
        return Holding(None, None)
    with well_formed(PLACEMENT):
        kind = document.get("consumer_type")
        return Holding(
            Allocations(
                amounts=amounts,
                project=document["project_id"],
                user=document["user_id"],
                consumer_type=None if kind == UNKNOWN_TYPE else kind,
            ),
            document["consumer_generation"],
        )
