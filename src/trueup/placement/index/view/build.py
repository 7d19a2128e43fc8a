# SPDX-License-Identifier: Apache-2.0
"""Builds a view from rows: a new one, or an older one in which some providers were read again.

The same functions make the columns in both cases, so both give the same view. The old and the new
view share unchanged objects.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.model.names import SHARING_TRAIT
from trueup.placement.index.view.columns import (
    NO_PROVIDERS,
    Integers,
    InventoryColumns,
    View,
    integers,
    to_array,
)
from trueup.placement.index.view.forest import NO_POSITION, Forest, Positions, lay_out
from trueup.placement.index.view.skipped import SkippedRow, skipped_rows
from trueup.placement.store.reads.fingerprint import RATIO_MAX, mark
from trueup.placement.store.reads.ledger_rows import LedgerRows, Names, ProviderRow, Usage

_INVENTORY_WIDTH, _USED_WIDTH = 8, 3
_revisions = itertools.count()

EMPTY_VIEW = View(
    forest=lay_out([]),
    class_ids={},
    inventories={},
    trait_ids={},
    providers_by_trait={},
    traits_of={},
    providers_by_aggregate={},
    sharing=NO_PROVIDERS,
    shared_with={},
    generations=NO_PROVIDERS,
    aggregate_ids={},
    revisions=NO_PROVIDERS,
    skipped=frozenset(),
)
"""The view of a ledger without providers and names."""


@dataclass(frozen=True, slots=True)
class _Relocation:
    """How positions of the old view become positions of the new one."""

    to: Positions
    """By old position: the new one, or NO_POSITION for a provider that is gone or read again."""
    replaced: Positions
    """The old positions of the providers that are gone or read again."""
    forest: Forest
    """The forest of the new view."""
    is_same_forest: bool

    def of(self, positions: Positions) -> Positions:
        """The new positions of the kept providers, sorted."""
        if self.is_same_forest:
            # PERF: of 10,000 providers in 60 groups, one changes.
            _, entries = _entries(positions, self.replaced)
            return np.delete(positions, entries) if len(entries) else positions
        moved = self.to[positions]
        return np.sort(moved[moved != NO_POSITION])


def build(rows: LedgerRows, old: View = EMPTY_VIEW, read_ids: Collection[int] = ()) -> View:
    """The old view with these rows in place of its rows of the providers with `read_ids`.

    An id in `read_ids` without a row is a provider that was deleted.
    """
    relocation = _relocation(old.forest, rows.providers, read_ids)
    forest = relocation.forest
    names = {key: name for name, key in rows.names.trait_ids.items()}
    positions = forest.positions_of(integers(rows.trait_sets)).tolist()
    trait_sets = {
        position: trait_set
        for position, trait_set in zip(positions, rows.trait_sets.values(), strict=True)
        if position != NO_POSITION
    }
    by_trait = _regrouped(old.providers_by_trait, relocation, _by_trait(trait_sets, names))
    by_aggregate = _regrouped(
        old.providers_by_aggregate, relocation, _by_aggregate(relocation.forest, rows)
    )
    sharing = by_trait.get(SHARING_TRAIT, NO_PROVIDERS)
    same_sharing = (
        relocation.is_same_forest
        and by_aggregate is old.providers_by_aggregate
        and np.array_equal(sharing, old.sharing)
    )
    return View(
        forest=forest,
        class_ids=rows.names.class_ids,
        inventories=_inventories(old, relocation, rows),
        trait_ids=rows.names.trait_ids,
        providers_by_trait=by_trait,
        traits_of=_traits_of(old.traits_of, relocation, trait_sets, names),
        providers_by_aggregate=by_aggregate,
        sharing=old.sharing if same_sharing else sharing,
        shared_with=old.shared_with
        if same_sharing
        else _shared_with(forest, sharing, by_aggregate),
        generations=_generations(old.generations, relocation, rows.providers),
        aggregate_ids=_aggregate_ids(old.aggregate_ids, rows, by_aggregate),
        revisions=_renewed(old.revisions, relocation.replaced)
        if relocation.is_same_forest
        else _renewed(forest.ids, np.arange(len(forest.ids))),
        skipped=_skipped(old.skipped, rows, forest, read_ids),
    )


def with_usage(view: View, usage: Usage, read_ids: Collection[int] | None) -> View:
    """The view with this usage of the providers with `read_ids`, or of all if that is None.

    The same object if nothing differs.
    """
    forest = view.forest
    table = to_array(usage.used, _USED_WIDTH)
    positions = forest.positions_of(table[:, 0])
    read = None if read_ids is None else forest.positions_of(integers(read_ids))
    inventories, changed = {}, [NO_PROVIDERS]
    for name, inventory in view.inventories.items():
        used = np.zeros_like(inventory.used) if read is None else inventory.used.copy()
        if read is not None:
            used[_entries(inventory.positions, read)[1]] = 0
        rows = table[:, 1] == inventory.class_id
        found, entries = _entries(inventory.positions, positions[rows])
        used[entries] = table[rows, 2][found]
        differs = used != inventory.used
        inventories[name] = replace(inventory, used=used) if differs.any() else inventory
        changed.append(inventory.positions[differs])
    generations = view.generations.copy()
    pairs = to_array(usage.generations, 2)
    positions = forest.positions_of(pairs[:, 0])
    generations[positions[positions != NO_POSITION]] = pairs[positions != NO_POSITION, 1]
    changed_positions = np.concatenate(changed)
    if not len(changed_positions) and np.array_equal(generations, view.generations):
        return view
    revisions = _renewed(view.revisions, changed_positions)
    return replace(view, inventories=inventories, generations=generations, revisions=revisions)


def with_names(view: View, names: Names) -> View:
    """The view with other names of classes and traits.

    Each class and trait that providers have must still exist, and each such trait keep its name.
    """
    by_id = {inventory.class_id: inventory for inventory in view.inventories.values()}
    inventories = {name: by_id[key] for name, key in names.class_ids.items() if key in by_id}
    return replace(
        view,
        inventories=inventories,
        class_ids=names.class_ids,
        trait_ids=names.trait_ids,
        revisions=_renewed(view.revisions, np.arange(len(view.revisions))),
    )


def _relocation(old: Forest, rows: Sequence[ProviderRow], read_ids: Collection[int]) -> _Relocation:
    """Lay the forest out again only if a provider came, went or moved to another parent."""
    ids = set(read_ids)
    replaced = old.positions_of(integers(read_ids))
    replaced = replaced[replaced != NO_POSITION]
    new_rows = {row._replace(generation=0) for row in rows}
    old_rows = {
        ProviderRow(
            int(old.ids[position]),
            old.uuids[position],
            int(old.root_ids[position]),
            _or_none(int(old.parent_ids[position])),
        )
        for position in replaced.tolist()
    }
    old_rows |= {row for row in old.left_out if row.id in ids}
    if new_rows == old_rows:
        to = np.arange(len(old), dtype=np.int64)
        to[replaced] = NO_POSITION
        return _Relocation(to, replaced, old, is_same_forest=True)
    forest = lay_out([*(row for row in old.rows() if row.id not in ids), *new_rows])
    to = forest.positions_of(old.ids)
    to[replaced] = NO_POSITION
    return _Relocation(to, replaced, forest, is_same_forest=False)


def _regrouped(
    old: Mapping[str, Positions], relocation: _Relocation, added: Mapping[str, list[Positions]]
) -> Mapping[str, Positions]:
    """By name: the kept providers of the old group, and the added ones. No group is empty."""
    groups = {}
    for name in dict.fromkeys([*old, *added]):
        before = old.get(name, NO_PROVIDERS)
        after = relocation.of(before)
        if name in added:
            after = np.sort(np.concatenate([after, *added[name]]))
        if len(after):
            is_same = after is before or np.array_equal(after, before)
            groups[name] = before if is_same else after
    same = groups.keys() == old.keys() and all(groups[name] is old[name] for name in groups)
    return old if same else groups


def _by_trait(
    trait_sets: Mapping[int, tuple[int, ...]], names: Mapping[int, str]
) -> dict[str, list[Positions]]:
    """By trait: its providers, in several arrays. Equal sets of traits are one object."""
    by_set: dict[tuple[int, ...], list[int]] = {}
    for position, trait_set in trait_sets.items():
        by_set.setdefault(trait_set, []).append(position)
    groups: dict[str, list[Positions]] = {}
    for trait_set, having in by_set.items():
        positions = integers(having)
        for key in trait_set:
            if key in names:
                groups.setdefault(names[key], []).append(positions)
    return groups


def _by_aggregate(forest: Forest, rows: LedgerRows) -> dict[str, list[Positions]]:
    pairs = to_array(rows.aggregate_pairs, 2)
    positions = forest.positions_of(pairs[:, 0])
    groups = {}
    for key in np.unique(pairs[positions != NO_POSITION, 1]).tolist():
        if key in rows.aggregate_uuids:
            members = positions[pairs[:, 1] == key]
            groups[rows.aggregate_uuids[key]] = [members[members != NO_POSITION]]
    return groups


def _aggregate_ids(
    old: Mapping[str, int], rows: LedgerRows, by_aggregate: Mapping[str, Positions]
) -> dict[str, int]:
    read = {uuid: key for key, uuid in rows.aggregate_uuids.items()}
    return {uuid: key for uuid, key in {**old, **read}.items() if uuid in by_aggregate}


def _traits_of(
    old: Mapping[int, tuple[str, ...]],
    relocation: _Relocation,
    trait_sets: Mapping[int, tuple[int, ...]],
    names: Mapping[int, str],
) -> Mapping[int, tuple[str, ...]]:
    named = {
        trait_set: tuple(names[key] for key in trait_set if key in names)
        for trait_set in set(trait_sets.values())
    }
    added = {
        position: named[trait_set] for position, trait_set in trait_sets.items() if named[trait_set]
    }
    if relocation.is_same_forest:
        replaced = relocation.replaced.tolist()
        if all(old.get(position) == added.get(position) for position in replaced):
            return old
        return {**{key: old[key] for key in old.keys() - set(replaced)}, **added}
    to = relocation.to.tolist()
    moved = {
        to[position]: having for position, having in old.items() if to[position] != NO_POSITION
    }
    return {**moved, **added}


def _inventories(
    old: View, relocation: _Relocation, rows: LedgerRows
) -> dict[str, InventoryColumns]:
    forest = relocation.forest
    values = itertools.chain.from_iterable(rows.inventories)
    table = np.fromiter(values, dtype=np.float64).reshape(-1, _INVENTORY_WIDTH)
    positions = forest.positions_of(table[:, 0].astype(np.int64))
    used = to_array(rows.used, _USED_WIDTH)
    used_positions = forest.positions_of(used[:, 0])
    old_by_id = {inventory.class_id: inventory for inventory in old.inventories.values()}
    inventories = {}
    for name, class_id in rows.names.class_ids.items():
        of_class = (table[:, 1] == class_id) & (positions != NO_POSITION)
        if class_id not in old_by_id and not of_class.any():
            continue
        added = _inventory_columns(class_id, positions[of_class], table[of_class])
        used_of_class = (used[:, 1] == class_id) & (used_positions != NO_POSITION)
        found, entries = _entries(added.positions, used_positions[used_of_class])
        added.used[entries] = used[used_of_class, 2][found]
        before = old_by_id.get(class_id)
        merged = added if before is None else _merged(before, relocation, added)
        if len(merged.positions):
            inventories[name] = merged
    return inventories


def _inventory_columns(class_id: int, positions: Positions, table: Any) -> InventoryColumns:
    """The rows of one class, sorted by position, with no usage."""
    order = np.argsort(positions)
    table = table[order]
    thousandths = np.rint(np.minimum(table[:, 4], RATIO_MAX) * 1000)
    total, reserved = table[:, 2].astype(np.int64), table[:, 3].astype(np.int64)
    units = table[:, 5:].astype(np.int64)
    return InventoryColumns(
        class_id=class_id,
        positions=positions[order],
        capacity=(table[:, 2] - table[:, 3]) * table[:, 4],
        used=np.zeros(len(table), dtype=np.int64),
        min_units=units[:, 0],
        max_units=units[:, 1],
        step_sizes=units[:, 2],
        marks=mark(class_id, total, reserved, thousandths.astype(np.int64), *units.T),
    )


def _merged(
    old: InventoryColumns, relocation: _Relocation, added: InventoryColumns
) -> InventoryColumns:
    """The kept old entries, and the added ones."""
    moved = relocation.to[old.positions]
    kept = moved != NO_POSITION
    if relocation.is_same_forest and kept.all() and not len(added.positions):
        return old
    positions = np.concatenate([moved[kept], added.positions])
    order = np.argsort(positions)

    def merge(column: str) -> Any:
        before, new = getattr(old, column), getattr(added, column)
        return np.concatenate([before[kept], new])[order]

    names = ("capacity", "used", "min_units", "max_units", "step_sizes", "marks")
    return InventoryColumns(old.class_id, positions[order], **{name: merge(name) for name in names})


def _generations(old: Integers, relocation: _Relocation, rows: Sequence[ProviderRow]) -> Integers:
    generations = np.zeros(len(relocation.forest), dtype=np.int64)
    kept = relocation.to != NO_POSITION
    generations[relocation.to[kept]] = old[kept]
    pairs = to_array([(row.id, row.generation) for row in rows], 2)
    positions = relocation.forest.positions_of(pairs[:, 0])
    generations[positions[positions != NO_POSITION]] = pairs[positions != NO_POSITION, 1]
    return generations


def _renewed(revisions: Integers, changed: Positions) -> Integers:
    """The revisions, with numbers new to this process at the changed positions."""
    count = len(changed)
    renewed = revisions.copy()
    renewed[changed] = np.fromiter(itertools.islice(_revisions, count), np.int64, count)
    return renewed


def _shared_with(
    forest: Forest, sharing: Positions, by_aggregate: Mapping[str, Positions]
) -> dict[int, Positions]:
    """By sharing provider: the roots of all trees with a member of one of its aggregates."""
    shared: dict[int, list[Positions]] = {int(position): [] for position in sharing}
    if not shared:
        return {}
    for positions in by_aggregate.values():
        roots = forest.roots[positions]
        for position in np.intersect1d(positions, sharing).tolist():
            shared[position].append(roots)
    return {
        position: np.unique(np.concatenate(roots)) if roots else NO_PROVIDERS
        for position, roots in shared.items()
    }


def _skipped(
    old: frozenset[SkippedRow], rows: LedgerRows, forest: Forest, read_ids: Collection[int]
) -> frozenset[SkippedRow]:
    found = skipped_rows(rows, forest)
    if not old:
        return found
    ids = set(read_ids)
    return frozenset(row for row in old if row.provider_id not in ids) | found


def _entries(sorted_positions: Positions, wanted: Positions) -> tuple[Any, Positions]:
    """A mask of the wanted positions that are in the array, and their entries."""
    if not len(sorted_positions):
        return np.zeros(len(wanted), dtype=np.bool_), NO_PROVIDERS
    entries = np.searchsorted(sorted_positions, wanted)
    entries = np.minimum(entries, len(sorted_positions) - 1)
    found = sorted_positions[entries] == wanted
    return found, entries[found]


def _or_none(key: int) -> int | None:
    return None if key == -1 else key
