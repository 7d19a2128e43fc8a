# SPDX-License-Identifier: Apache-2.0
"""Everything that a request for allocations is decided by, read in one statement.

PERF: each statement is a round trip, and a round trip takes more processor time than the rows it
brings. So rows of six kinds come as one result, each packed into one text.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    CompoundSelect,
    Select,
    String,
    cast,
    literal_column,
    null,
    select,
    union_all,
)

from trueup.model.allocations import ConsumerAllocations, ConsumerRef, ProviderResource
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, filled, places
from trueup.placement.store.packed_rows import packed, parts_of
from trueup.placement.store.rows.consumers import OWNER_NAMES, PROJECT, TYPE, USER, Owner
from trueup.placement.store.rows.inventories import USED
from trueup.placement.store.tables import (
    allocations,
    consumers,
    inventories,
    providers,
    resource_classes,
)

_INVENTORY, _CONSUMER, _HELD = "inventories", "consumers", "allocations"


@dataclass(slots=True)
class ClaimRows:
    """The rows of the consumers, providers and classes that a request names."""

    inventories: dict[ProviderResource, InventoryWithUsage] = field(default_factory=dict)
    provider_ids: dict[str, int] = field(default_factory=dict)
    """Ids by UUID, of the providers of these inventories."""
    class_ids: dict[str, int] = field(default_factory=dict)
    """Ids by name, of the classes of these inventories."""
    consumers: dict[str, ConsumerRef] = field(default_factory=dict)
    """Existing consumers by UUID."""
    held: dict[str, dict[ProviderResource, int]] = field(default_factory=dict)
    """Present amounts by the UUID of the consumer, which may have no row of its own."""
    held_of: set[int] = field(default_factory=set)
    """The ids of the providers of these amounts."""
    owners: dict[Owner, int] = field(default_factory=dict)
    """The ids of existing owners. MariaDB ignores case in their names."""


def _kind_query(kind: str, parts: list[Any], ratio: Any = None) -> Select[Any]:
    """The query for one kind of rows: the kind, the parts in one text, and an allocation ratio.

    The ratio is a column of its own because SQLite shortens a number that becomes a text.
    """
    # A constant of this file, not a parameter.
    word: ColumnElement[str] = literal_column(f"'{kind}'", String)
    # Texts of several tables in one column need one collation.
    alike = [cast(part, String(255)) if isinstance(part.type, String) else part for part in parts]
    return select(
        word.label("kind"),
        packed(*alike).label("parts"),
        (null() if ratio is None else ratio).label("ratio"),
    )


def _owners(name: Column[str], is_wanted: ColumnElement[bool]) -> Select[Any]:
    return _kind_query(name.table.name, [name.table.c.id, name]).where(is_wanted)


@lru_cache(maxsize=256)
def _statement(lengths: tuple[tuple[str, int], ...]) -> FixedStatement:
    return FixedStatement(_query(lengths))


def _query(lengths: tuple[tuple[str, int], ...]) -> CompoundSelect[Any]:
    """The query for lists of these lengths; each value is a parameter of its own."""
    length_of = dict(lengths)

    def is_in(column: Column[str], listed: str) -> ColumnElement[bool]:
        return column.in_(places(listed, length_of[listed]))

    return union_all(
        # The first one gives the columns their types.
        _kind_query(
            _INVENTORY,
            [
                providers.c.id,
                providers.c.uuid,
                resource_classes.c.id,
                resource_classes.c.name,
                cast(USED, BigInteger),
                inventories.c.total,
                inventories.c.reserved,
                inventories.c.min_unit,
                inventories.c.max_unit,
                inventories.c.step_size,
            ],
            inventories.c.allocation_ratio,
        )
        .select_from(providers)
        .join(inventories, inventories.c.resource_provider_id == providers.c.id)
        .join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)
        .where(
            is_in(providers.c.uuid, "providers"),
            is_in(resource_classes.c.name, "classes"),
        ),
        _kind_query(_CONSUMER, [consumers.c.id, consumers.c.uuid, consumers.c.generation]).where(
            is_in(consumers.c.uuid, "consumers")
        ),
        _kind_query(
            _HELD,
            [
                providers.c.id,
                providers.c.uuid,
                resource_classes.c.name,
                allocations.c.consumer_id,
                allocations.c.used,
            ],
        )
        .select_from(allocations)
        .join(providers, allocations.c.resource_provider_id == providers.c.id)
        .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
        .where(is_in(allocations.c.consumer_id, "consumers")),
        *(_owners(name, is_in(name, kind)) for kind, name in OWNER_NAMES.items()),
    )


def read(
    tx: Transaction,
    wanted: Collection[ConsumerAllocations],
    resources: Collection[ProviderResource],
) -> ClaimRows:
    """The rows of these consumers, and of the resources that they are to have.

    SAFETY: the caller has locked the providers, otherwise the usage may change at any time. The
    consumers are not locked: the write of a consumer checks the generation that was read.
    """
    lists: dict[str, Collection[str]] = {
        "providers": {uuid for uuid, _ in resources},
        "classes": {resource_class for _, resource_class in resources},
        "consumers": [consumer.consumer_uuid for consumer in wanted],
        PROJECT: {consumer.project_id for consumer in wanted},
        USER: {consumer.user_id for consumer in wanted},
        TYPE: {consumer.type for consumer in wanted if consumer.type is not None},
    }
    given, lengths = dict[str, Any](), []
    for listed, names in lists.items():
        values = filled(listed, list(names))
        given |= values
        lengths.append((listed, len(values)))
    found = ClaimRows()
    for kind, text, ratio in _statement(tuple(lengths)).send(tx, given).rows:
        if kind == _INVENTORY:
            id_, uuid, class_id, name, used, *amounts = parts_of(text, 10)
            total, reserved, min_unit, max_unit, step_size = map(int, amounts)
            inventory = Inventory(name, total, reserved, min_unit, max_unit, step_size, ratio)
            found.inventories[uuid, name] = InventoryWithUsage(inventory, int(used))
            found.provider_ids[uuid], found.class_ids[name] = int(id_), int(class_id)
        elif kind == _CONSUMER:
            id_, uuid, generation = parts_of(text, 3)
            found.consumers[uuid] = ConsumerRef(int(id_), uuid, int(generation))
        elif kind == _HELD:
            id_, uuid, name, consumer, used = parts_of(text, 5)
            found.held_of.add(int(id_))
            held = found.held.setdefault(consumer, {})
            # Rows written by hand may name the same resource twice; both count as used.
            held[uuid, name] = held.get((uuid, name), 0) + int(used)
        else:
            id_, name = parts_of(text, 2)
            found.owners[kind, name] = int(id_)
    return found
