# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database → facts. No queries here."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from trueup.reconcile.facts import Inventory, Owner, Provider
from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.errors import Unreachable

DATABASE = "Placement's database"
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
        # Placement writes both values, but its tables allow NULL.
        name=row.name or "",
        generation=row.generation or 0,
        root=row.root,
        parent=row.parent,
        inventories=inventories,
        traits=traits,
        aggregates=aggregates,
    )


def inventories_of(
    rows: Iterable[Row], classes: Mapping[int, str]
) -> dict[int, dict[str, Inventory]]:
    """Inventories, by id of the provider and name of the resource class.

    Rows of a class that does not exist are left out; `faults.dangling` names them. Raises
    Unreachable if an amount is not a number.
    """
    inventories: dict[int, dict[str, Inventory]] = {}
    for row in rows:
        if name := classes.get(row.resource_class_id):
            inventories.setdefault(row.resource_provider_id, {})[name] = Inventory(
                total=_whole(row, "total", "inventories"),
                reserved=_whole(row, "reserved", "inventories"),
                allocation_ratio=_ratio(row),
                min_unit=_whole(row, "min_unit", "inventories"),
                max_unit=_whole(row, "max_unit", "inventories"),
                step_size=_whole(row, "step_size", "inventories"),
            )
    return inventories


def names_of(rows: Iterable[Row]) -> dict[int, frozenset[str]]:
    """The names in all rows of each provider, by the provider's id; "" for NULL."""
    names: dict[int, list[str]] = {}
    for row in rows:
        names.setdefault(row.resource_provider_id, []).append(row.name or "")
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
    """The amounts of each consumer. `uuids` maps a provider's id to its UUID.

    Rows of a provider or class that does not exist are left out. Raises Unreachable if an amount
    is no number.
    """
    consumers: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        uuid, name = uuids.get(row.resource_provider_id), classes.get(row.resource_class_id)
        if uuid and name:
            used = row.used if type(row.used) is int else _whole(row, "used", "allocations")
            consumers.setdefault(row.consumer_id, {}).setdefault(uuid, {})[name] = used
    return consumers


def _whole(row: Row, column: str, table: str) -> int:
    """SAFETY: SQLite may store text in a column of integers; then the amount is unknown."""
    value = getattr(row, column)
    if isinstance(value, int):
        return value
    raise Unreachable(
        DATABASE, f"row {row.id} of {table}: {column} is {value!r}, which is no whole number"
    )


def _ratio(row: Row) -> float:
    try:
        return float(row.allocation_ratio)
    except (ValueError, TypeError) as error:
        reason = f"row {row.id} of inventories: allocation_ratio is no number ({error})"
        raise Unreachable(DATABASE, reason) from error
