# SPDX-License-Identifier: Apache-2.0
"""Documents of Placement's API → facts, or Unreachable for what is none. No request here."""

from typing import Any

from trueup.reconcile.facts import Allocations, Amounts, Holding, Inventory, Provider
from trueup.reconcile.sources.http import understood

PLACEMENT = "Placement"
# What Placement's API calls a consumer without a type; it does not accept the word in a write.
UNKNOWN_TYPE = "unknown"


def providers(document: Any) -> list[Provider]:
    """The providers that are listed, without what they have."""
    with understood(PLACEMENT):
        return [
            Provider(
                uuid=row["uuid"],
                name=row["name"],
                generation=row["generation"],
                root=row["root_provider_uuid"],
                parent=row["parent_provider_uuid"],
                inventories={},
            )
            for row in document["resource_providers"]
            # Upstream does not list what lacks a root; Trueup's service does.
            if row["root_provider_uuid"] is not None
        ]


def inventories(document: Any) -> dict[str, Inventory]:
    """What a provider has, by resource class."""
    with understood(PLACEMENT):
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
    """What is held: of a provider by consumer, or by a consumer of each provider."""
    with understood(PLACEMENT):
        return {uuid: row["resources"] for uuid, row in document["allocations"].items()}


def aggregates(document: Any) -> tuple[str, ...]:
    """The aggregates of a provider."""
    with understood(PLACEMENT):
        return tuple(document["aggregates"])


def holding(document: Any) -> Holding:
    """What a consumer holds, with its owner and generation."""
    if not (amounts := allocations(document)):
        return Holding(None, None)
    with understood(PLACEMENT):
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
