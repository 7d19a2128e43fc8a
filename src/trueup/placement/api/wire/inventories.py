# SPDX-License-Identifier: Apache-2.0
"""One inventory, and all inventories of a provider; the limit of `reserved` by microversion."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trueup.model.inventories import Inventory, refuse_bad_capacity
from trueup.model.names import MAX_INTEGER, MAX_RATIO
from trueup.placement.api.errors import bad_request
from trueup.placement.api.versions import V
from trueup.placement.api.wire.schema import CLASS_PATTERN, INTEGER, Checked, Field, Object, map_of


def _amount(least: int) -> dict[str, Any]:
    return {"type": "integer", "maximum": MAX_INTEGER, "minimum": least}


_AMOUNTS = (
    Field("total", _amount(1), required=True),
    Field("reserved", _amount(0)),
    Field("min_unit", _amount(1)),
    Field("max_unit", _amount(1)),
    Field("step_size", _amount(1)),
    Field("allocation_ratio", {"type": "number", "maximum": MAX_RATIO}),
)
_GENERATION = Field("resource_provider_generation", INTEGER)
_GENERATION_REQUIRED = Field("resource_provider_generation", INTEGER, required=True)

POST_INVENTORY = Checked(
    Object(
        _GENERATION,
        *_AMOUNTS,
        Field("resource_class", {"type": "string", "pattern": CLASS_PATTERN}, required=True),
    )
)
PUT_INVENTORY = Checked(Object(_GENERATION_REQUIRED, *_AMOUNTS))

# PARITY: keys that do not look like a class are accepted with any value.
_BY_CLASS = map_of(CLASS_PATTERN, Object(_GENERATION, *_AMOUNTS), additionalProperties=True)

ALL_INVENTORIES = Object(_GENERATION_REQUIRED, Field("inventories", _BY_CLASS, required=True))
PUT_INVENTORIES = Checked(ALL_INVENTORIES)

_CLASS = re.compile(CLASS_PATTERN)
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def from_wire(resource_class: str, given: Mapping[str, Any]) -> Inventory:
    """An inventory from a body, with defaults for absent fields."""
    amounts = {name: given[name] for name in _FIELDS if name in given}
    if "allocation_ratio" in amounts:
        amounts["allocation_ratio"] = _ratio(amounts["allocation_ratio"])
    return Inventory(resource_class, **amounts)


def _ratio(given: float) -> float:
    """The ratio as a float, because an integer may be too large. Raises Refused."""
    try:
        return float(given)
    except OverflowError as error:
        raise bad_request("An allocation_ratio is too large a number.") from error


def all_from_wire(given: Mapping[str, Mapping[str, Any]]) -> tuple[Inventory, ...]:
    """All inventories of a provider, by class.

    The value of a name that no class can have is ignored: there is no such class.
    """
    return tuple(
        from_wire(name, amounts) if _CLASS.search(name) else Inventory(name, total=1)
        for name, amounts in given.items()
    )


def refuse_reserved(provider_uuid: str, inventories: Iterable[Inventory], version: V) -> None:
    """Raise BadCapacity if `reserved` is too much for a client of this microversion."""
    may_reserve_all = version >= V.FULLY_RESERVED
    for inventory in inventories:
        refuse_bad_capacity(provider_uuid, inventory, may_reserve_all=may_reserve_all)


def render(inventory: Inventory) -> dict[str, Any]:
    """One inventory, without its class."""
    return {name: getattr(inventory, name) for name in _FIELDS}


def render_one(inventory: Inventory, generation: int) -> dict[str, Any]:
    """One inventory as a whole body."""
    body = render(inventory)
    # PARITY: a provider that never changed shows no generation here.
    return body | {"resource_provider_generation": generation} if generation else body


def render_all(inventories: Iterable[Inventory], generation: int) -> dict[str, Any]:
    """All inventories of a provider."""
    return {
        "resource_provider_generation": generation,
        "inventories": {inventory.resource_class: render(inventory) for inventory in inventories},
    }
