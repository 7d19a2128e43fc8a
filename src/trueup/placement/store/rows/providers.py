# SPDX-License-Identifier: Apache-2.0
"""Finds, locks and changes the rows of providers, and reads their trees."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from oslo_utils.timeutils import utcnow
from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    bindparam,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from trueup.model.providers import Provider, ProviderRef
from trueup.placement.store.engine import lock_rows
from trueup.placement.store.engine.changes import PROVIDER, USAGE_OF, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement
from trueup.placement.store.packed_rows import number_of, packed, parts_of, time_of
from trueup.placement.store.tables import (
    GENERATION,
    allocations,
    inventories,
    provider_aggregates,
    provider_traits,
    providers,
)

_Row = TypeVar("_Row", Provider, ProviderRef)

_parent = providers.alias("parent")
_root = providers.alias("root")

# Subqueries and not joins, because a query that locks providers must not lock parents and roots.
_root_uuid = (
    select(_root.c.uuid)
    .where(_root.c.id == providers.c.root_provider_id)
    .correlate(providers)
    .scalar_subquery()
)
_parent_uuid = (
    select(_parent.c.uuid)
    .where(_parent.c.id == providers.c.parent_provider_id)
    .correlate(providers)
    .scalar_subquery()
)


def _provider_query(root_uuid: ColumnElement[str], parent_uuid: ColumnElement[str]) -> Select[Any]:
    """PERF: one column, because with PyMySQL each costs a tenth of a small query."""
    return select(
        packed(
            providers.c.id,
            providers.c.uuid,
            providers.c.generation,
            root_uuid,
            parent_uuid,
            # `online_data_migrations` makes a provider without a root its own root.
            func.coalesce(providers.c.root_provider_id, providers.c.id),
            func.coalesce(providers.c.updated_at, providers.c.created_at),
            providers.c.name,
        )
    )


_COLUMNS = _provider_query(_root_uuid, _parent_uuid)
_TREE = FixedStatement(_COLUMNS.where(providers.c.root_provider_id == bindparam("root")))
# PERF: MariaDB takes a quarter less for two joins than for two subqueries. The joined UUIDs may be
# NULL, though their column is not nullable.
_ONE = FixedStatement(
    _provider_query(*(type_coerce(of.c.uuid, String) for of in (_root, _parent)))
    .select_from(
        providers.outerjoin(_root, _root.c.id == providers.c.root_provider_id).outerjoin(
            _parent, _parent.c.id == providers.c.parent_provider_id
        )
    )
    .where(providers.c.uuid == bindparam("uuid"))
)
_FEW = select(providers.c.id, providers.c.uuid, GENERATION)
_KNOWN = FixedStatement(_FEW.where(providers.c.uuid == bindparam("uuid")))


def _locking(columns: Select[Any]) -> ListStatement:
    return ListStatement(
        "uuids",
        lambda uuids: (
            columns.where(providers.c.uuid.in_(uuids)).order_by(providers.c.id).with_for_update()
        ),
    )


_LOCKED, _LOCKED_KNOWN = _locking(_COLUMNS), _locking(_FEW)
_ROOT_IDS = ListStatement(
    "uuids",
    lambda uuids: select(func.coalesce(providers.c.root_provider_id, providers.c.id)).where(
        providers.c.uuid.in_(uuids)
    ),
)
_BUMPED = ListStatement(
    "ids",
    lambda ids: (
        update(providers)
        .where(providers.c.id.in_(ids))
        .values(generation=GENERATION + bindparam("by"))
    ),
)
_raised = update(providers).values(generation=GENERATION + 1)
_BUMPED_BY_UUID = FixedStatement(_raised.where(providers.c.uuid == bindparam("only")))
_BUMPED_BY_UUIDS = ListStatement("uuids", lambda uuids: _raised.where(providers.c.uuid.in_(uuids)))


def of_uuid(tx: Transaction, uuid: str) -> Provider | None:
    """The provider with this UUID, if there is one."""
    found = _providers_found(tx, _ONE, {"uuid": uuid})
    return found[0] if found else None


def find_ref(tx: Transaction, uuid: str) -> ProviderRef | None:
    """Identity and generation of the provider with this UUID, if there is one."""
    rows = _KNOWN.send(tx, {"uuid": uuid}).rows
    return ProviderRef(*rows[0]) if rows else None


def lock(tx: Transaction, uuids: Collection[str]) -> dict[str, Provider]:
    """The existing ones of these providers, locked until the end of the transaction.

    The keys are the UUIDs as the caller spells them. SAFETY: a transaction locks providers before
    it reads their other rows, and in the order of their ids, so that no two transactions wait for
    each other.
    """
    found = _providers_found(tx, _LOCKED, {"uuids": list(uuids)})
    return _by_given_uuid(uuids, found)


def lock_refs(tx: Transaction, uuids: Collection[str]) -> dict[str, ProviderRef]:
    """As `lock`, with identity and generation only."""
    found = [ProviderRef(*row) for row in _LOCKED_KNOWN.send(tx, {"uuids": list(uuids)}).rows]
    if all(provider.uuid in uuids for provider in found):
        return {provider.uuid: provider for provider in found}
    return _by_given_uuid(uuids, found)


def _by_given_uuid(uuids: Collection[str], found: Collection[_Row]) -> dict[str, _Row]:
    exact = {provider.uuid: provider for provider in found}
    # MariaDB ignores the case of a UUID.
    folded = {provider.uuid.lower(): provider for provider in found}
    return {
        uuid: exact.get(uuid) or folded[uuid.lower()] for uuid in uuids if uuid.lower() in folded
    }


def lock_one(tx: Transaction, uuid: str) -> Provider | None:
    """The provider with this UUID, locked until the end of the transaction."""
    return lock(tx, [uuid]).get(uuid)


def keep_trees(tx: Transaction, uuids: Collection[str]) -> None:
    """Keep others from changing the shape of the trees of these providers, until the end.

    SAFETY: this comes before the providers are locked and their trees are read.
    """
    kept: set[int] = set()
    while roots := {key for (key,) in _ROOT_IDS.send(tx, {"uuids": list(uuids)}).rows} - kept:
        lock_rows.take(tx, lock_rows.TREE, roots)
        # Before that, they may have moved to other trees.
        kept |= roots


def subtree(tx: Transaction, provider: Provider) -> list[Provider]:
    """The provider and its descendants."""
    tree = _providers_found(tx, _TREE, {"root": provider.root_id})
    children: dict[str | None, list[Provider]] = {}
    for member in tree:
        children.setdefault(member.parent_uuid, []).append(member)
    found = [provider]
    for member in found:
        found.extend(children.get(member.uuid, ()))
    return found


def is_taken(
    tx: Transaction,
    *,
    name: str | None = None,
    uuid: str | None = None,
    beside: Provider | None = None,
) -> bool:
    """Whether a provider has this name, or this UUID; `beside` itself does not count."""
    query = select(providers.c.id)
    query = query.where(providers.c.name == name if uuid is None else providers.c.uuid == uuid)
    if beside is not None:
        query = query.where(providers.c.id != beside.id)
    return tx.execute(query.limit(1)).first() is not None


def insert_provider(tx: Transaction, uuid: str, name: str, parent: Provider | None) -> None:
    """Add a provider below `parent`, or as the root of a new tree."""
    values: dict[str, Any] = {"uuid": uuid, "name": name, "generation": 0}
    if parent is not None:
        values |= {"parent_provider_id": parent.id, "root_provider_id": parent.root_id}
    made = tx.execute(insert(providers).values(values))
    assert made.inserted_primary_key is not None
    note(tx, PROVIDER, made.inserted_primary_key)
    if parent is None:
        change = update(providers).where(providers.c.uuid == uuid)
        # A new provider has no time of change.
        tx.execute(change.values(root_provider_id=providers.c.id, updated_at=None))


def rename(tx: Transaction, provider: Provider, name: str) -> None:
    """Give a provider another name."""
    tx.execute(update(providers).where(providers.c.id == provider.id).values(name=name))


def move(
    tx: Transaction, provider: Provider, below: Iterable[Provider], parent: Provider | None
) -> None:
    """Give a provider another parent, or make it a root; `below` is its subtree."""
    root_id = parent.root_id if parent else provider.id
    moved = [member.id for member in below]
    note(tx, PROVIDER, moved)
    change = update(providers).where(providers.c.id.in_(moved))
    tx.execute(change.values(root_provider_id=root_id))
    change = update(providers).where(providers.c.id == provider.id)
    tx.execute(change.values(parent_provider_id=parent.id if parent else None))


def bump_generations(tx: Transaction, ids: Collection[int], by: int = 1) -> None:
    """Raise the generations of these providers.

    This is noted as a change of usage, because an index reads usage and generations together.
    """
    if ids:
        _BUMPED.send(tx, {"ids": sorted(ids), "by": by})
        note_generations(tx, ids)


def bump_generations_of(tx: Transaction, uuids: Collection[str]) -> None:
    """Raise the generations of these providers, where they exist, and so lock them.

    PERF: one statement less than to lock them first. The caller notes its other changes of them,
    which include the generation, or calls `note_generations`.
    """
    if len(uuids) == 1:
        _BUMPED_BY_UUID.send(tx, {"only": next(iter(uuids))})
    elif uuids:
        # SAFETY: an UPDATE takes its locks in any order.
        lock_refs(tx, uuids)
        _BUMPED_BY_UUIDS.send(tx, {"uuids": list(uuids)})


def note_generations(tx: Transaction, ids: Collection[int]) -> None:
    """Note that only the generations of these providers changed."""
    note(tx, USAGE_OF, ids)


def has_children(tx: Transaction, provider: Provider) -> bool:
    """Whether a provider is the parent of another."""
    query = select(providers.c.id).where(providers.c.parent_provider_id == provider.id)
    return tx.execute(query.limit(1)).first() is not None


def has_allocations(tx: Transaction, provider: Provider) -> bool:
    """Whether a provider has allocations, even of a consumer without a row."""
    query = select(allocations.c.id).where(allocations.c.resource_provider_id == provider.id)
    return tx.execute(query.limit(1)).first() is not None


def delete_provider(tx: Transaction, provider: Provider) -> None:
    """Delete a provider with its inventories, traits and aggregates, but not allocations."""
    lock_rows.take(tx, lock_rows.PROVIDER, [provider.id])
    note(tx, PROVIDER, [provider.id])
    for table in (inventories, provider_aggregates, provider_traits):
        tx.execute(delete(table).where(table.c.resource_provider_id == provider.id))
    # A root refers to itself, and some databases refuse to delete such a row.
    change = update(providers).where(providers.c.id == provider.id)
    tx.execute(change.values(root_provider_id=None, updated_at=utcnow()))
    tx.execute(delete(providers).where(providers.c.id == provider.id))


def _providers_found(
    tx: Transaction, query: FixedStatement | ListStatement, values: Mapping[str, Any]
) -> list[Provider]:
    """The providers that a query made from `_COLUMNS` finds."""
    return [_provider(parts_of(text, 8)) for (text,) in query.send(tx, values).rows]


def _provider(parts: Sequence[str]) -> Provider:
    key, uuid, generation, root_uuid, parent_uuid, root_id, modified_at, name = parts
    return Provider(
        int(key),
        uuid,
        name,
        number_of(generation),
        root_uuid or None,
        parent_uuid or None,
        int(root_id),
        time_of(modified_at),
    )
