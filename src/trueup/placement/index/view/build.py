# SPDX-License-Identifier: Apache-2.0
"""Rows to columns: a new view from an old one, and what was read again of some providers.

From nothing and after a change the same functions make the columns, so both give the same. What
did not change is shared between the two views, as the same object.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.model.names import SHARING_TRAIT
from trueup.placement.index.view.columns import NOBODY, Integers, Stocks, View
from trueup.placement.index.view.forest import NOWHERE, Forest, Positions, lay_out
from trueup.placement.index.view.skipped import Skipped, skipped_in
from trueup.placement.store.picture import (
    Names,
    Picture,
    ProviderRow,
    Usage,
)

_STOCK_WIDTH, _USED_WIDTH = 8, 3

NOTHING = View(
    forest=lay_out([]),
    class_ids={},
    stocks={},
    trait_ids={},
    having={},
    traits_of={},
    members={},
    sharing=NOBODY,
    shared_with={},
    generations=NOBODY,
    aggregate_ids={},
    skipped=frozenset(),
)
"""The view of a ledger without providers and names."""


@dataclass(frozen=True, slots=True)
class Move:
    """From the positions of an old view to those of a new one."""

    to: Positions
    """By old position: the new one, or NOWHERE if nothing that was known there is kept."""
    gone: Positions
    """The old positions of which nothing is kept."""
    forest: Forest
    """The new one."""
    is_same_forest: bool

    def of(self, positions: Positions) -> Positions:
        """What is left of these, in the new order."""
        if self.is_same_forest:
            # PERF: of 10,000 providers in 60 groups, one changes.
            _, entries = _entries(positions, self.gone)
            return np.delete(positions, entries) if len(entries) else positions
        moved = self.to[positions]
        return np.sort(moved[moved != NOWHERE])


def arrange(picture: Picture, old: View = NOTHING, again: Collection[int] = ()) -> View:
    """The view with the providers of the picture; `again` are the ids of all that it is about."""
    move = _moved(old.forest, picture.providers, again)
    names = {key: name for name, key in picture.names.trait_ids.items()}
    added = _positions_of(move.forest, picture.trait_sets)
    trait_sets = {
        position: picture.trait_sets[provider]
        for provider, position in added.items()
        if position != NOWHERE
    }
    having = _regrouped(old.having, move, _by_trait(trait_sets, names))
    aggregate_ids = {uuid: key for key, uuid in picture.aggregate_uuids.items()}
    members = _regrouped(old.members, move, _by_aggregate(move.forest, picture))
    sharing = having.get(SHARING_TRAIT, NOBODY)
    same = move.is_same_forest and members is old.members and np.array_equal(sharing, old.sharing)
    view = View(
        forest=move.forest,
        class_ids=picture.names.class_ids,
        stocks=_stocks(old, move, picture),
        trait_ids=picture.names.trait_ids,
        having=having,
        traits_of=_traits_of(old.traits_of, move, trait_sets, names),
        members=members,
        sharing=old.sharing if same else sharing,
        shared_with=old.shared_with if same else _shared_with(move.forest, sharing, members),
        generations=_generations(old.generations, move, picture.providers),
        aggregate_ids={
            uuid: key
            for uuid, key in {**old.aggregate_ids, **aggregate_ids}.items()
            if uuid in members
        },
        skipped=_skipped(old, picture, move.forest, again),
    )
    if move.is_same_forest:
        view.fragments.take_over(old.fragments, move.gone)
    return view


def with_usage(view: View, usage: Usage, again: Collection[int] | None) -> View:
    """The view with what is used now of these providers, or of all."""
    forest = view.forest
    table = _table(usage.used, _USED_WIDTH)
    positions = forest.positions_of(table[:, 0])
    touched = None if again is None else forest.positions_of(_integers(again))
    stocks, changed = {}, [NOBODY]
    for name, stock in view.stocks.items():
        used = np.zeros_like(stock.used) if touched is None else stock.used.copy()
        if touched is not None:
            used[_entries(stock.positions, touched)[1]] = 0
        rows = table[:, 1] == stock.class_id
        found, entries = _entries(stock.positions, positions[rows])
        used[entries] = table[rows, 2][found]
        differs = used != stock.used
        stocks[name] = replace(stock, used=used) if differs.any() else stock
        changed.append(stock.positions[differs])
    generations = view.generations.copy()
    pairs = _table(usage.generations, 2)
    positions = forest.positions_of(pairs[:, 0])
    generations[positions[positions != NOWHERE]] = pairs[positions != NOWHERE, 1]
    followed = replace(view, stocks=stocks, generations=generations)
    followed.fragments.take_over(view.fragments, np.concatenate(changed))
    return followed


def with_names(view: View, names: Names) -> View:
    """The view with another vocabulary. Traits that providers have must be in it as they were."""
    by_id = {stock.class_id: stock for stock in view.stocks.values()}
    stocks = {name: by_id[key] for name, key in names.class_ids.items() if key in by_id}
    return replace(view, stocks=stocks, class_ids=names.class_ids, trait_ids=names.trait_ids)


def _moved(old: Forest, rows: Sequence[ProviderRow], again: Collection[int]) -> Move:
    """Lay the forest out anew only if a provider came, went or has another place."""
    ids = _integers(again)
    gone = old.positions_of(ids)
    gone = gone[gone != NOWHERE]
    bare = {row._replace(generation=0) for row in rows}
    known = {
        ProviderRow(
            int(old.ids[position]),
            old.uuids[position],
            int(old.root_ids[position]),
            _or_none(int(old.parent_ids[position])),
        )
        for position in gone.tolist()
    }
    known |= {row for row in old.left_out if row.id in set(again)}
    if bare == known:
        to = np.arange(len(old), dtype=np.int64)
        to[gone] = NOWHERE
        return Move(to, gone, old, is_same_forest=True)
    replaced = set(again)
    forest = lay_out([*(row for row in old.rows() if row.id not in replaced), *bare])
    to = forest.positions_of(old.ids)
    to[gone] = NOWHERE
    return Move(to, gone, forest, is_same_forest=False)


def _regrouped(
    old: Mapping[str, Positions], move: Move, added: Mapping[str, list[Positions]]
) -> Mapping[str, Positions]:
    """By name: who is left of each group, and who is new in it. Without empty groups."""
    groups = {}
    for name in dict.fromkeys([*old, *added]):
        before = old.get(name, NOBODY)
        kept = move.of(before)
        if name in added:
            kept = np.sort(np.concatenate([kept, *added[name]]))
        if len(kept):
            is_same = kept is before or np.array_equal(kept, before)
            groups[name] = before if is_same else kept
    same = groups.keys() == old.keys() and all(groups[name] is old[name] for name in groups)
    return old if same else groups


def _by_trait(
    sets: Mapping[int, tuple[int, ...]], names: Mapping[int, str]
) -> dict[str, list[Positions]]:
    """By trait: who has it, in portions. Hosts of a kind have equal sets, which are one object."""
    kinds: dict[tuple[int, ...], list[int]] = {}
    for position, kind in sets.items():
        kinds.setdefault(kind, []).append(position)
    groups: dict[str, list[Positions]] = {}
    for kind, having in kinds.items():
        positions = _integers(having)
        for key in kind:
            if key in names:
                groups.setdefault(names[key], []).append(positions)
    return groups


def _by_aggregate(forest: Forest, picture: Picture) -> dict[str, list[Positions]]:
    pairs = _table(picture.aggregate_pairs, 2)
    positions = forest.positions_of(pairs[:, 0])
    groups = {}
    for key in np.unique(pairs[positions != NOWHERE, 1]).tolist():
        if key in picture.aggregate_uuids:
            inside = positions[pairs[:, 1] == key]
            groups[picture.aggregate_uuids[key]] = [inside[inside != NOWHERE]]
    return groups


def _traits_of(
    old: Mapping[int, tuple[str, ...]],
    move: Move,
    sets: Mapping[int, tuple[int, ...]],
    names: Mapping[int, str],
) -> Mapping[int, tuple[str, ...]]:
    named = {kind: tuple(names[key] for key in kind if key in names) for kind in set(sets.values())}
    added = {position: named[kind] for position, kind in sets.items() if named[kind]}
    if move.is_same_forest:
        gone = move.gone.tolist()
        if all(old.get(position) == added.get(position) for position in gone):
            return old
        return {**{key: old[key] for key in old.keys() - set(gone)}, **added}
    to = move.to.tolist()
    moved = {to[position]: having for position, having in old.items() if to[position] != NOWHERE}
    return {**moved, **added}


def _stocks(old: View, move: Move, picture: Picture) -> dict[str, Stocks]:
    values = itertools.chain.from_iterable(picture.stocks)
    table = np.fromiter(values, dtype=np.float64).reshape(-1, _STOCK_WIDTH)
    positions = move.forest.positions_of(table[:, 0].astype(np.int64))
    used = _table(picture.used, _USED_WIDTH)
    used_positions = move.forest.positions_of(used[:, 0])
    before = {stock.class_id: stock for stock in old.stocks.values()}
    stocks = {}
    for name, class_id in picture.names.class_ids.items():
        rows = (table[:, 1] == class_id) & (positions != NOWHERE)
        if class_id not in before and not rows.any():
            continue
        added = _added(class_id, positions[rows], table[rows])
        of_class = (used[:, 1] == class_id) & (used_positions != NOWHERE)
        found, entries = _entries(added.positions, used_positions[of_class])
        added.used[entries] = used[of_class, 2][found]
        joined = _joined(before[class_id], move, added) if class_id in before else added
        if len(joined.positions):
            stocks[name] = joined
    return stocks


def _added(class_id: int, positions: Positions, table: Any) -> Stocks:
    """The rows of one class, in the order of the providers."""
    order = np.argsort(positions)
    table = table[order]
    whole = table.astype(np.int64)
    return Stocks(
        class_id=class_id,
        positions=positions[order],
        limits=(table[:, 2] - table[:, 3]) * table[:, 4],
        used=np.zeros(len(table), dtype=np.int64),
        min_units=whole[:, 5],
        max_units=whole[:, 6],
        step_sizes=whole[:, 7],
    )


def _joined(old: Stocks, move: Move, added: Stocks) -> Stocks:
    """What is left of the old, with what is new."""
    moved = move.to[old.positions]
    kept = moved != NOWHERE
    if move.is_same_forest and kept.all() and not len(added.positions):
        return old
    positions = np.concatenate([moved[kept], added.positions])
    order = np.argsort(positions)

    def join(column: str) -> Any:
        before, new = getattr(old, column), getattr(added, column)
        return np.concatenate([before[kept], new])[order]

    names = ("limits", "used", "min_units", "max_units", "step_sizes")
    return Stocks(old.class_id, positions[order], **{name: join(name) for name in names})


def _generations(old: Integers, move: Move, rows: Sequence[ProviderRow]) -> Integers:
    generations = np.zeros(len(move.forest), dtype=np.int64)
    kept = move.to != NOWHERE
    generations[move.to[kept]] = old[kept]
    pairs = _table([(row.id, row.generation) for row in rows], 2)
    positions = move.forest.positions_of(pairs[:, 0])
    generations[positions[positions != NOWHERE]] = pairs[positions != NOWHERE, 1]
    return generations


def _shared_with(
    forest: Forest, sharing: Positions, members: Mapping[str, Positions]
) -> dict[int, Positions]:
    """Who shares, and the roots of all trees with a member in one of its aggregates."""
    shared: dict[int, list[Positions]] = {int(position): [] for position in sharing}
    if not shared:
        return {}
    for positions in members.values():
        roots = forest.roots[positions]
        for position in np.intersect1d(positions, sharing).tolist():
            shared[position].append(roots)
    return {
        position: np.unique(np.concatenate(roots)) if roots else NOBODY
        for position, roots in shared.items()
    }


def _entries(sorted_positions: Positions, wanted: Positions) -> tuple[Any, Positions]:
    """Which of the wanted are there, and where those are."""
    if not len(sorted_positions):
        return np.zeros(len(wanted), dtype=np.bool_), NOBODY
    places = np.searchsorted(sorted_positions, wanted)
    places = np.minimum(places, len(sorted_positions) - 1)
    found = sorted_positions[places] == wanted
    return found, places[found]


def _positions_of(forest: Forest, ids: Collection[int]) -> dict[int, int]:
    positions = forest.positions_of(_integers(ids)).tolist()
    return dict(zip(ids, positions, strict=True))


def _table(rows: Sequence[Any], width: int) -> Integers:
    return _integers(itertools.chain.from_iterable(rows)).reshape(-1, width)


def _integers(values: Iterable[int]) -> Positions:
    return np.fromiter(values, dtype=np.int64)


def _skipped(
    old: View, picture: Picture, forest: Forest, again: Collection[int]
) -> frozenset[Skipped]:
    found = skipped_in(picture, forest)
    if not old.skipped:
        return found
    about = set(again)
    return frozenset(one for one in old.skipped if one.provider_id not in about) | found


def _or_none(key: int) -> int | None:
    return None if key == -1 else key
