# SPDX-License-Identifier: Apache-2.0
"""All that a request for allocations is decided by, read in one statement.

PERF: each statement is a round trip, and a round trip takes more processor time than the rows it
brings. So rows of five kinds come as one result, whose columns mean something else for each kind.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Select,
    String,
    bindparam,
    cast,
    literal_column,
    null,
    select,
    union_all,
)

from trueup.model.allocations import ConsumerAllocations, ConsumerRef, ProviderResource
from trueup.model.inventories import Inventory, InventoryWithUsage
from trueup.placement.store.engine.database import Transaction
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
    """What the ledger has of the consumers, providers and classes that a request names."""

    inventories: dict[ProviderResource, InventoryWithUsage] = field(default_factory=dict)
    provider_ids: dict[str, int] = field(default_factory=dict)
    """By UUID, of the providers that have one of the inventories."""
    class_ids: dict[str, int] = field(default_factory=dict)
    """By name, of the classes that one of the inventories is of."""
    consumers: dict[str, ConsumerRef] = field(default_factory=dict)
    """By UUID, of those that exist."""
    held: dict[str, dict[ProviderResource, int]] = field(default_factory=dict)
    """By UUID, what consumers hold, also those without a row of their own."""
    held_of: set[int] = field(default_factory=set)
    """The ids of the providers that it is held of."""
    owners: dict[Owner, int] = field(default_factory=dict)
    """The ids of those that exist. MariaDB finds a name in the other case too."""


def _rows(kind: str, numbers: list[Any], names: list[Any], amounts: list[Any]) -> Select[Any]:
    """One kind of rows: its kind, three numbers, three names, and six amounts."""
    texts = [cast(name, String(255)) for name in names]
    columns = [
        *(numbers + [null()] * (3 - len(numbers))),
        *(texts + [null()] * (3 - len(texts))),
        *(amounts or [null()] * 6),
    ]
    # A quoted word of this file, not a parameter.
    word: ColumnElement[str] = literal_column(f"'{kind}'", String)
    labels = ("n1", "n2", "n3", "t1", "t2", "t3", "a1", "a2", "a3", "a4", "a5", "a6")
    return select(
        word.label("kind"),
        *(column.label(label) for column, label in zip(columns, labels, strict=True)),
    )


def _owners(name: Column[str]) -> Select[Any]:
    kind = name.table.name
    wanted: BindParameter[Any] = bindparam(kind, expanding=True)
    return _rows(kind, [name.table.c.id], [name], []).where(name.in_(wanted))


_uuids: BindParameter[Any] = bindparam("consumers", expanding=True)
_READ = union_all(
    # The first one gives the columns their types.
    _rows(
        _INVENTORY,
        [providers.c.id, resource_classes.c.id, cast(USED, BigInteger)],
        [resource_classes.c.name, providers.c.uuid],
        [
            inventories.c.total,
            inventories.c.reserved,
            inventories.c.min_unit,
            inventories.c.max_unit,
            inventories.c.step_size,
            inventories.c.allocation_ratio,
        ],
    )
    .select_from(providers)
    .join(inventories, inventories.c.resource_provider_id == providers.c.id)
    .join(resource_classes, inventories.c.resource_class_id == resource_classes.c.id)
    .where(
        providers.c.uuid.in_(bindparam("providers", expanding=True)),
        resource_classes.c.name.in_(bindparam("classes", expanding=True)),
    ),
    _rows(_CONSUMER, [consumers.c.id, consumers.c.generation], [consumers.c.uuid], []).where(
        consumers.c.uuid.in_(_uuids)
    ),
    _rows(
        _HELD,
        [allocations.c.resource_provider_id, null(), allocations.c.used],
        [resource_classes.c.name, providers.c.uuid, allocations.c.consumer_id],
        [],
    )
    .select_from(allocations)
    .join(providers, allocations.c.resource_provider_id == providers.c.id)
    .join(resource_classes, allocations.c.resource_class_id == resource_classes.c.id)
    .where(allocations.c.consumer_id.in_(_uuids)),
    *(_owners(name) for name in OWNER_NAMES.values()),
)


def read(
    tx: Transaction,
    wanted: Collection[ConsumerAllocations],
    resources: Collection[ProviderResource],
) -> ClaimRows:
    """What the ledger has of these consumers, and of the resources that they are to have.

    SAFETY: the caller has locked the providers, otherwise the usage may change at any time. The
    consumers are not locked: a write of one names the generation that was read.
    """
    values = {
        "providers": list({uuid for uuid, _ in resources}),
        "classes": list({resource_class for _, resource_class in resources}),
        "consumers": [one.consumer_uuid for one in wanted],
        PROJECT: list({one.project_id for one in wanted}),
        USER: list({one.user_id for one in wanted}),
        TYPE: list({one.type for one in wanted if one.type is not None}),
    }
    found = ClaimRows()
    for kind, id_, number, used, name, uuid, consumer, *amounts in tx.execute(_READ, values):
        if kind == _INVENTORY:
            inventory = Inventory(name, *amounts)
            found.inventories[uuid, name] = InventoryWithUsage(inventory, used)
            found.provider_ids[uuid], found.class_ids[name] = id_, number
        elif kind == _CONSUMER:
            found.consumers[name] = ConsumerRef(id_, name, number)
        elif kind == _HELD:
            found.held_of.add(id_)
            held = found.held.setdefault(consumer, {})
            # Rows written by hand may name the same resource twice; both count as used.
            held[uuid, name] = held.get((uuid, name), 0) + used
        else:
            found.owners[kind, name] = id_
    return found
