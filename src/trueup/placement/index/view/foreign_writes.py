# SPDX-License-Identifier: Apache-2.0
"""Finds the writes of other services, which do not publish their changes, and damage of a view.

A few sums are compared, which is cheap. Rows are read only of the kinds whose sums differ. Usage
has no sum, and is always read. If the sums still differ, the whole ledger is read: a claim through
Trueup may have hidden the generation that showed another service's write, and a write by hand may
not raise it.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from trueup.placement import store
from trueup.placement.index.view import damage
from trueup.placement.index.view.build import with_usage
from trueup.placement.index.view.columns import Integers, View, to_array
from trueup.placement.index.view.forest import NO_PARENT, NO_POSITION
from trueup.placement.index.view.refresh import load, refresh
from trueup.placement.store.engine.changes import Changed, Vector
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import fingerprint as sums_of_ledger
from trueup.placement.store.reads.fingerprint import Fingerprint

Residue = Mapping[str, int]
"""The sums of the ledger minus those of a current view: the part of the skipped rows."""


class Compared(NamedTuple):
    """The state of the ledger in a comparison, for the next one."""

    vector: Vector
    ledger: Fingerprint
    residue: Residue


NEVER = Compared({}, {}, {})


class Comparison(NamedTuple):
    """The result of a comparison."""

    view: View
    """The view with the writes of other services."""
    compared: Compared
    damaged: frozenset[str]
    """What was wrong in the view, and no service can have written: sums, or UUIDs of providers."""


def compare(tx: Transaction, view: View, vector: Vector, earlier: Compared) -> Comparison:
    """Compare a view that includes all changes of this vector with the snapshot of `tx`.

    `earlier` is from the previous comparison of this view, or NEVER.
    """
    names = store.ledger_rows.names(tx)
    same_names = (names.class_ids, names.trait_ids) == (view.class_ids, view.trait_ids)
    ledger, residue = store.fingerprint.fingerprint(tx), earlier.residue
    differing = frozenset(name for name, _ in _minus(ledger, view).items() ^ residue.items())
    is_same_state = (vector, ledger) == (earlier.vector, earlier.ledger)
    damaged = differing if is_same_state else frozenset[str]()
    fresh = refresh(tx, view, changes_against(tx, view, differing, names=not same_names))
    fresh = with_usage(fresh, store.ledger_rows.all_usage(tx), None)
    damaged |= damage.grown_usage(view, fresh)
    if not same_names or differing:
        left = _minus(ledger, fresh)
        if left != residue:
            loaded = load(tx)
            claimed = store.changes.news(tx, earlier.vector).changed
            if not claimed.everything and not claimed.all_usage:
                damaged |= damage.other_content(fresh, loaded, claimed.usage_of)
            fresh, residue = loaded, _minus(ledger, loaded)
    if damaged:
        fresh = load(tx)
    return Comparison(fresh, Compared(vector, ledger, residue), damaged)


def fingerprint_of(view: View) -> Fingerprint:
    """The sums that the ledger has if its rows are those of the view."""
    forest = view.forest
    weights = forest.ids * forest.ids % sums_of_ledger.WEIGHTS
    parents = np.where(forest.parent_ids == NO_PARENT, 0, forest.parent_ids)
    columns = (
        np.ones_like(weights),
        view.generations,
        weights * view.generations,
        weights * forest.root_ids,
        weights * parents,
    )
    sums = dict(zip(sums_of_ledger.PROVIDER_SUMS, map(_total, columns), strict=True))
    marks = [
        (_total(inventory.marks), _total(weights[inventory.positions] * inventory.marks))
        for inventory in view.inventories.values()
    ]
    having = [
        (len(positions), view.trait_ids[name] * _total(forest.ids[positions]))
        for name, positions in view.providers_by_trait.items()
    ]
    members = [
        (len(positions), view.aggregate_ids[uuid] * _total(weights[positions]))
        for uuid, positions in view.providers_by_aggregate.items()
    ]
    for names, pairs in (
        (sums_of_ledger.MEMBER_SUMS, members),
        (sums_of_ledger.INVENTORY_SUMS, marks),
        (sums_of_ledger.TRAIT_SUMS, having),
    ):
        totals = (sum(first for first, _ in pairs), sum(second for _, second in pairs))
        sums |= zip(names, totals, strict=True)
    return sums


def changes_against(
    tx: Transaction, view: View, differing: Collection[str], *, names: bool
) -> Changed:
    """The changes that make the view equal to the ledger, without usage.

    `differing` are the names of the sums that differ. PERF: only rows of these kinds are read.
    """
    providers: set[int] = set()
    if not set(differing).isdisjoint(sums_of_ledger.TREE_SUMS):
        providers |= _changed_providers(tx, view)
    elif not set(differing).isdisjoint(sums_of_ledger.GENERATION_SUMS):
        providers |= _with_other_generations(tx, view)
    if not set(differing).isdisjoint(sums_of_ledger.MEMBER_SUMS):
        providers |= _changed_members(tx, view)
    return Changed(providers=frozenset(providers), names=names)


def _changed_providers(tx: Transaction, view: View) -> set[int]:
    known = dict(zip(view.forest.rows(), _generations(view), strict=True))
    rows = store.ledger_rows.all_providers(tx)
    stored = {row._replace(generation=0): row.generation for row in rows}
    return {row.id for row, _ in known.items() ^ stored.items()}


def _with_other_generations(tx: Transaction, view: View) -> set[int]:
    """The ids of the providers whose generation is not that of the view.

    PERF: a claim changes only generations, and comparing all rows takes ten times as long.
    """
    pairs = to_array(store.ledger_rows.generations(tx), 2)
    positions = view.forest.positions_of(pairs[:, 0])
    pairs, positions = pairs[positions != NO_POSITION], positions[positions != NO_POSITION]
    differs = pairs[:, 1] != view.generations[positions]
    return set(pairs[differs, 0].tolist())


def _changed_members(tx: Transaction, view: View) -> set[int]:
    """The ids of the providers that joined or left an aggregate."""
    pairs = {
        (provider, aggregate)
        for uuid, positions in view.providers_by_aggregate.items()
        for aggregate in [view.aggregate_ids[uuid]]
        for provider in view.forest.ids[positions].tolist()
    }
    return {provider for provider, _ in pairs ^ set(store.ledger_rows.all_members(tx))}


def _generations(view: View) -> list[Any]:
    """Generations in the order of the forest's rows; 0 for rows that were left out."""
    return [*view.generations.tolist(), *(0 for _ in view.forest.left_out)]


def _minus(ledger: Fingerprint, view: View) -> Residue:
    of_view = fingerprint_of(view)
    differences = {name: total - of_view[name] for name, total in ledger.items()}
    return {name: difference for name, difference in differences.items() if difference}


def _total(column: Integers) -> int:
    return int(column.sum())
