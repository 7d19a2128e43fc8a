# SPDX-License-Identifier: Apache-2.0
"""Resource classes and traits: their names and ids.

Nothing is cached between transactions, because other processes create and delete names. The names
that a transaction needs take one statement.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Select,
    String,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from trueup.placement.store.engine import lock_rows
from trueup.placement.store.engine.changes import NAMES, note
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.engine.statements import FixedStatement, ListStatement
from trueup.placement.store.packed_rows import columns_of, packed_group, rows_of, time_of
from trueup.placement.store.tables import inventories, provider_traits, resource_classes, traits

_FIRST_CUSTOM_CLASS_ID = 10000
_LISTS_KEPT = 8


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A resource class or a trait."""

    id: int
    name: str
    modified_at: datetime | None


class NameList(NamedTuple):
    """Names in the order of their ids."""

    names: tuple[str, ...]
    modified_at: datetime | None
    """The time of the latest change; None if the time of a name is unknown."""


def _listed(table: Table) -> Select[Any]:
    """The query whose text `_name_list` reads.

    PERF: one text with all names takes a third of the time of a row for each name.
    """
    modified_at = func.coalesce(table.c.updated_at, table.c.created_at)
    return select(packed_group(table.c.id, modified_at, table.c.name)).select_from(table)


def _ids_of(names: Sequence[BindParameter[str]], *others: Any) -> Select[Any]:
    query = select(resource_classes.c.name, resource_classes.c.id, *others)
    return query.where(resource_classes.c.name.in_(names))


def _kept_ids_of(names: Sequence[BindParameter[str]]) -> Select[Any]:
    # SAFETY: the time is selected so that MariaDB locks the row. Name and id are in the index, and
    # a lock of the index entry does not stop a transaction that locks the row by its id.
    time = type_coerce(resource_classes.c.updated_at, String)
    return _ids_of(names, time).with_for_update(read=True)


_ALL_CLASSES = FixedStatement(_listed(resource_classes))


def _ids_and_names(table: Table, names: Sequence[BindParameter[str]]) -> Any:
    query = select(packed_group(table.c.id, table.c.name)).where(table.c.name.in_(names))
    return query.scalar_subquery()


_NAMED = ListStatement(
    "names",
    lambda names: select(_ids_and_names(resource_classes, names), _ids_and_names(traits, names)),
)
_CLASS_IDS = ListStatement("names", _ids_of)
_KEPT_CLASS_IDS = ListStatement("names", _kept_ids_of)


def class_ids(tx: Transaction, names: Iterable[str], *, keep: bool = False) -> dict[str, int]:
    """The ids of these resource classes, where they exist.

    With `keep`, no other transaction deletes them before this one ends.
    """
    wanted = _possible(names)
    query = _KEPT_CLASS_IDS if keep else _CLASS_IDS
    found = {name: id_ for name, id_, *_ in query.send(tx, {"names": wanted}).rows}
    # MariaDB compares names without regard to case; the ledger does not.
    return {name: found[name] for name in wanted if name in found}


class NamedIds(NamedTuple):
    """The ids of classes and traits, by name."""

    classes: Mapping[str, int]
    traits: Mapping[str, int]


def ids_named(tx: Transaction, names: Collection[str]) -> NamedIds:
    """The ids of the resource classes and of the traits that have these names."""
    wanted = _possible(names)
    if not wanted:
        return NamedIds({}, {})
    ((classes, traits),) = _NAMED.send(tx, {"names": wanted}).rows
    return NamedIds(_ids_in(classes, names), _ids_in(traits, names))


def _ids_in(text: str | None, names: Collection[str]) -> dict[str, int]:
    # MariaDB compares names without regard to case; the ledger does not.
    return {name: int(key) for key, name in rows_of([text], 2) if name in names}


def resource_class(tx: Transaction, name: str) -> NamedRow | None:
    """The resource class of this name, if there is one."""
    return _row_named(tx, resource_classes, name)


def all_resource_classes(tx: Transaction) -> NameList:
    """Every resource class."""
    return _name_list(_ALL_CLASSES.send(tx).rows[0][0])


def insert_resource_class(tx: Transaction, name: str) -> None:
    """Add a custom resource class; two writers that choose the same id are a conflict."""
    last = tx.scalar(select(func.max(resource_classes.c.id)))
    id_ = lock_rows.next_class_id(tx, max(_FIRST_CUSTOM_CLASS_ID, (last or 0) + 1))
    tx.execute(insert(resource_classes).values(id=id_, name=name))
    note(tx, NAMES)


def rename_resource_class(tx: Transaction, word: NamedRow, name: str) -> None:
    """Give a resource class another name."""
    tx.execute(update(resource_classes).where(resource_classes.c.id == word.id).values(name=name))
    note(tx, NAMES)


def delete_resource_class(tx: Transaction, word: NamedRow) -> None:
    """Delete a resource class. Its id is never used again."""
    lock_rows.keep_class_id(tx, word.id)
    tx.execute(delete(resource_classes).where(resource_classes.c.id == word.id))
    note(tx, NAMES)


def lock_resource_class(tx: Transaction, word: NamedRow) -> bool:
    """Keep others from deleting, renaming and using the class; False if it is gone."""
    query = select(resource_classes.c.id).where(resource_classes.c.id == word.id)
    if tx.execute(query.with_for_update()).first() is None:
        return False
    lock_rows.take(tx, lock_rows.RESOURCE_CLASS, [word.id])
    return True


def is_class_used(tx: Transaction, word: NamedRow) -> bool:
    """Whether some provider has an inventory of the class."""
    query = select(inventories.c.id).where(inventories.c.resource_class_id == word.id)
    return tx.execute(query.limit(1)).first() is not None


def trait(tx: Transaction, name: str) -> NamedRow | None:
    """The trait of this name, if there is one."""
    return _row_named(tx, traits, name)


def list_traits(
    tx: Transaction,
    *,
    names: Sequence[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> NameList:
    """The traits that meet all given filters; `associated`: whether any provider has the trait."""
    if names is not None and not names:
        return NameList((), None)
    values: dict[str, Any] = {} if names is None else {"names": names}
    if prefix is not None:
        # PARITY: % and _ in a prefix are wildcards.
        values["pattern"] = f"{prefix}%"
    statement = _traits_listed(names is not None, prefix is not None, associated)
    return _name_list(statement.send(tx, values).rows[0][0])


@lru_cache
def _traits_listed(
    has_names: bool, has_prefix: bool, associated: bool | None
) -> FixedStatement | ListStatement:
    query = _listed(traits)
    if has_prefix:
        query = query.where(traits.c.name.like(bindparam("pattern")))
    if associated is not None:
        used = traits.c.id.in_(select(provider_traits.c.trait_id))
        query = query.where(used if associated else ~used)
    if not has_names:
        return FixedStatement(query)
    return ListStatement("names", lambda names: query.where(traits.c.name.in_(names)))


def insert_trait(tx: Transaction, name: str) -> None:
    """Add a trait."""
    tx.execute(insert(traits).values(name=name))
    note(tx, NAMES)


def delete_trait(tx: Transaction, word: NamedRow) -> None:
    """Delete a trait."""
    tx.execute(delete(traits).where(traits.c.id == word.id))
    note(tx, NAMES)


def is_trait_used(tx: Transaction, word: NamedRow) -> bool:
    """Whether some provider has the trait."""
    query = select(provider_traits.c.trait_id).where(provider_traits.c.trait_id == word.id)
    return tx.execute(query.limit(1)).first() is not None


def _possible(names: Iterable[str]) -> list[str]:
    """The names without NUL, which PostgreSQL refuses even in a comparison."""
    return [name for name in names if "\0" not in name]


def _row_named(tx: Transaction, table: Table, name: str) -> NamedRow | None:
    if not _possible([name]):
        return None
    modified_at = func.coalesce(table.c.updated_at, table.c.created_at)
    query = select(table.c.id, table.c.name, modified_at).where(table.c.name == name)
    # MariaDB compares names without regard to case; the ledger does not.
    return next((NamedRow(*row) for row in tx.execute(query) if row.name == name), None)


@lru_cache(maxsize=_LISTS_KEPT)
def _name_list(text: str | None) -> NameList:
    """The names in the text of a query of `_listed`.

    PERF: the text is nearly always the same as before; parsing it takes up to a fifth of a request.
    """
    _, times, names = columns_of([text], 3)
    modified = [time_of(time) for time in {*times}]
    known = [time for time in modified if time is not None]
    is_known = bool(known) and len(known) == len(modified)
    return NameList(tuple(names), max(known) if is_known else None)
