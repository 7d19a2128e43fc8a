# SPDX-License-Identifier: Apache-2.0
"""Store to columns, from nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueup.model.names import SHARING_TRAIT
from trueup.placement import store
from trueup.placement.index.columns import NOBODY, Stocks, View
from trueup.placement.index.forest import Forest, Positions, lay_out
from trueup.placement.store.database import Database
from trueup.placement.store.picture import Picture, StockRow


def load(database: Database) -> View:
    """A picture of the ledger at this moment."""
    with database.reading(snapshot=True) as tx:
        picture = store.picture.whole(tx)
    return arrange(picture)


def arrange(picture: Picture) -> View:
    """The columns of a picture."""
    forest = lay_out(picture.providers)
    names = {key: name for name, key in picture.trait_ids.items()}
    trait_pairs = [(provider, names[key]) for provider, key in picture.trait_pairs if key in names]
    having = _grouped(forest, trait_pairs)
    members = _grouped(forest, picture.aggregate_pairs)
    sharing = having.get(SHARING_TRAIT, NOBODY)
    return View(
        forest=forest,
        class_ids=picture.class_ids,
        stocks=_stocks(forest, picture.stocks, picture.class_ids),
        trait_ids=picture.trait_ids,
        having=having,
        traits_of=_traits_of(forest, trait_pairs),
        members=members,
        sharing=sharing,
        shared_with=_shared_with(forest, sharing, members),
    )


def _stocks(
    forest: Forest, rows: Sequence[StockRow], class_ids: Mapping[str, int]
) -> dict[str, Stocks]:
    by_class: dict[int, list[StockRow]] = {}
    for row in rows:
        if row.provider_id in forest.by_id:
            by_class.setdefault(row.class_id, []).append(row)
    return {
        name: _stocks_of_class(forest, by_class[class_id])
        for name, class_id in class_ids.items()
        if class_id in by_class
    }


def _stocks_of_class(forest: Forest, rows: list[StockRow]) -> Stocks:
    rows = sorted(rows, key=lambda row: forest.by_id[row.provider_id])
    limits = [(row.total - row.reserved) * row.allocation_ratio for row in rows]
    return Stocks(
        positions=_integers([forest.by_id[row.provider_id] for row in rows]),
        limits=np.array(limits, dtype=np.float64),
        used=_integers([row.used for row in rows]),
        min_units=_integers([row.min_unit for row in rows]),
        max_units=_integers([row.max_unit for row in rows]),
        step_sizes=_integers([row.step_size for row in rows]),
    )


def _grouped(forest: Forest, pairs: Sequence[tuple[int, str]]) -> dict[str, Positions]:
    """By the second of each pair: the sorted positions of the first."""
    groups: dict[str, list[int]] = {}
    for provider_id, name in pairs:
        position = forest.by_id.get(provider_id)
        if position is not None:
            groups.setdefault(name, []).append(position)
    return {name: _integers(sorted(positions)) for name, positions in groups.items()}


def _traits_of(forest: Forest, pairs: Sequence[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    traits: dict[int, list[str]] = {}
    for provider_id, name in pairs:
        position = forest.by_id.get(provider_id)
        if position is not None:
            traits.setdefault(position, []).append(name)
    return {position: tuple(names) for position, names in traits.items()}


def _shared_with(
    forest: Forest, sharing: Positions, members: Mapping[str, Positions]
) -> dict[int, Positions]:
    """Who shares, and the roots of all trees with a member in one of its aggregates."""
    shared: dict[int, list[Positions]] = {int(position): [] for position in sharing}
    for positions in members.values():
        roots = forest.roots[positions]
        for position in np.intersect1d(positions, sharing).tolist():
            shared[position].append(roots)
    return {
        position: np.unique(np.concatenate(roots)) if roots else NOBODY
        for position, roots in shared.items()
    }


def _integers(values: list[Any]) -> Positions:
    return np.array(values, dtype=np.int64)
