# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database → facts. No queries here."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from trueup.reconcile.facts import Inventory, Owner, Provider
from trueup.reconcile.sources.database import Row

_NO_INVENTORIES: Mapping[str, Inventory] = {}


def provider_of(
    row: Row,
    inventories: Mapping[str, Inventory] = _NO_INVENTORIES,
    traits: frozenset[str] | None = None,
    aggregates: frozenset[str] | None = None,
) -> Provider:
    """A provider from a row of EVERY_PROVIDER, its inventories and its traits."""
    return Provider(
        uuid=str(row.uuid),
        name=row.name,
        generation=row.generation,
        root=row.root,
        parent=row.parent,
        inventories=inventories,
        traits=traits,
        aggregates=aggregates,
    )


def inventories_of(
    rows: Iterable[Row], classes: Mapping[int, str]
) -> dict[int, dict[str, Inventory]]:
    """Inventories, by id of the provider and name of the resource class."""
    inventories: dict[int, dict[str, Inventory]] = {}
    for row in rows:
        inventories.setdefault(row.resource_provider_id, {})[classes[row.resource_class_id]] = (
            Inventory(
                total=row.total,
                reserved=row.reserved,
                allocation_ratio=float(row.allocation_ratio),
                min_unit=row.min_unit,
                max_unit=row.max_unit,
                step_size=row.step_size,
            )
        )
    return inventories


def names_of(rows: Iterable[Row]) -> dict[int, frozenset[str]]:
    """The names in all rows of each provider, by the provider's id."""
    names: dict[int, list[str]] = {}
    for row in rows:
        names.setdefault(row.resource_provider_id, []).append(row.name)
    return {number: _shared(tuple(sorted(found))) for number, found in names.items()}


@lru_cache(maxsize=4096)
def _shared(names: tuple[str, ...]) -> frozenset[str]:
    """PERF: thousands of hosts have the same traits; each set of traits is stored once."""
    return frozenset(names)


def owners_of(rows: Iterable[Row]) -> dict[str, Owner]:
    """The owner of each consumer, from rows of EVERY_CONSUMER."""
    return {row.uuid: owner_of(row.project, row.user) for row in rows}


@lru_cache(maxsize=65536)
def owner_of(project: str | None, user: str | None) -> Owner:
    """PERF: thousands of consumers have the same owner; each owner is stored once."""
    return Owner(project or "", user or "")


def amounts_of(
    rows: Iterable[Row], uuids: Mapping[int, str], classes: Mapping[int, str]
) -> dict[str, dict[str, dict[str, int]]]:
    """The amounts of each consumer. `providers` maps a provider's id to its UUID."""
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        if uuid := uuids.get(row.resource_provider_id):
            held = consumers.setdefault(row.consumer_id, {}).setdefault(uuid, {})
            held[classes[row.resource_class_id]] = row.used
    return consumers
