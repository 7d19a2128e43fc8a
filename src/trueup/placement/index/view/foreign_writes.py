# SPDX-License-Identifier: Apache-2.0
"""Find what other services wrote: they do not publish their changes as ours do.

First a few sums are compared, which is cheap. Only what they show to differ is then read: all rows
of that kind. If the sums still differ, the whole ledger is read: a claim of ours may have taken
over the generation that showed another service's write, and a write by hand may not raise it.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from trueup.placement import store
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import NO_PARENT, NO_POSITION
from trueup.placement.index.view.refresh import load, refresh
from trueup.placement.store.engine.changes import Changed
from trueup.placement.store.engine.database import Transaction
from trueup.placement.store.reads import fingerprint as sums_of_ledger
from trueup.placement.store.reads.fingerprint import Fingerprint

Residue = Mapping[tuple[str, int], int]
"""The sums of the ledger minus those of a current view: what the skipped rows add."""


def with_foreign_writes(tx: Transaction, view: View, residue: Residue) -> tuple[View, Residue]:
    """The view with what other services wrote, and its residue.

    `view` must have all changes that were published up to the snapshot of `tx`; `residue` is what
    the previous call returned.
    """
    names = store.ledger_rows.names(tx)
    same_names = (names.class_ids, names.trait_ids) == (view.class_ids, view.trait_ids)
    ledger = store.fingerprint.fingerprint(tx)
    found = _minus(ledger, fingerprint_of(view))
    differing = {name for (name, _), _ in found.items() ^ residue.items()}
    if same_names and not differing:
        return view, residue
    view = refresh(tx, view, changes_against(tx, view, differing, names=not same_names))
    left = _minus(ledger, fingerprint_of(view))
    if left == residue:
        return view, left
    view = load(tx)
    return view, _minus(ledger, fingerprint_of(view))


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
    sums: dict[tuple[str, int], int] = {
        (name, 0): int(column.sum())
        for name, column in zip(sums_of_ledger.PROVIDER_SUMS, columns, strict=True)
    }
    for inventory in view.inventories.values():
        sums[sums_of_ledger.USED, inventory.class_id] = int(inventory.used.sum())
        weighted = int((weights[inventory.positions] * inventory.used).sum())
        sums[sums_of_ledger.WEIGHTED_USED, inventory.class_id] = weighted
        sums[sums_of_ledger.MARKED, inventory.class_id] = int(inventory.marks.sum())
        weighted = int((weights[inventory.positions] * inventory.marks).sum())
        sums[sums_of_ledger.WEIGHTED_MARKED, inventory.class_id] = weighted
    having = [
        (len(positions), view.trait_ids[name] * int(forest.ids[positions].sum()))
        for name, positions in view.providers_by_trait.items()
    ]
    sums[sums_of_ledger.TRAITS, 0] = sum(count for count, _ in having)
    sums[sums_of_ledger.WEIGHTED_TRAITS, 0] = sum(weighted for _, weighted in having)
    members = [
        (len(positions), weights[positions].sum(), uuid)
        for uuid, positions in view.providers_by_aggregate.items()
    ]
    sums[sums_of_ledger.MEMBERS, 0] = sum(count for count, _, _ in members)
    sums[sums_of_ledger.WEIGHTED_MEMBERS, 0] = sum(
        int(weight) * view.aggregate_ids[uuid] for _, weight, uuid in members
    )
    return {key: total for key, total in sums.items() if total}


def changes_against(
    tx: Transaction, view: View, differing: Collection[str], *, names: bool
) -> Changed:
    """What to read again so that the view equals the ledger, whoever wrote there.

    `differing` are the names of the sums that are not those of the view.

    PERF: what does not differ is not read. The requests of this process share its processor, and
    usage takes three quarters of the time that all takes.
    """
    providers: set[int] = set()
    if not set(differing).isdisjoint(sums_of_ledger.TREE_SUMS):
        providers |= _changed_providers(tx, view)
    elif not set(differing).isdisjoint(sums_of_ledger.GENERATION_SUMS):
        providers |= _with_other_generations(tx, view)
    if not set(differing).isdisjoint(sums_of_ledger.MEMBER_SUMS):
        providers |= _changed_members(tx, view)
    all_usage = not set(differing).isdisjoint(sums_of_ledger.USED_SUMS)
    return Changed(providers=frozenset(providers), names=names, all_usage=all_usage)


def _changed_providers(tx: Transaction, view: View) -> set[int]:
    known = dict(zip(view.forest.rows(), _generations(view), strict=True))
    rows = store.ledger_rows.all_providers(tx)
    stored = {row._replace(generation=0): row.generation for row in rows}
    return {row.id for row, _ in known.items() ^ stored.items()}


def _with_other_generations(tx: Transaction, view: View) -> set[int]:
    """The ids of the providers whose generation is not that of the view.

    PERF: a claim changes no more than that, and to compare the rows takes ten times as long.
    """
    pairs = np.array(store.ledger_rows.generations(tx), dtype=np.int64).reshape(-1, 2)
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
    """In the order of the forest's rows; 0 for those that were left out, which have none."""
    return [*view.generations.tolist(), *(0 for _ in view.forest.left_out)]


def _minus(ledger: Fingerprint, view: Fingerprint) -> Residue:
    differences = {
        key: ledger.get(key, 0) - view.get(key, 0) for key in dict.fromkeys([*ledger, *view])
    }
    return {key: difference for key, difference in differences.items() if difference}
