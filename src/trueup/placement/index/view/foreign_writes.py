# SPDX-License-Identifier: Apache-2.0
"""A view against the ledger: did somebody write past us, and what?

First a few sums, which cost little. Only if they are not as expected, everything that others may
have changed is read and compared one by one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup.placement import store
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.forest import NO_PARENT
from trueup.placement.index.view.refresh import follow
from trueup.placement.store import fingerprint as prints
from trueup.placement.store.changes import Changed
from trueup.placement.store.database import Transaction
from trueup.placement.store.fingerprint import Fingerprint

Residue = Mapping[tuple[str, int], int]
"""What the sums of the ledger have more than those of a current view: rows that are in no view."""


def compared(tx: Transaction, view: View, residue: Residue) -> tuple[View, Residue]:
    """The view with what others wrote; `view` must have all that we wrote before this snapshot."""
    names = store.picture.names(tx)
    spoken = (names.class_ids, names.trait_ids) == (view.class_ids, view.trait_ids)
    theirs = store.fingerprint.fingerprint(tx)
    if spoken and _less(theirs, fingerprint_of(view)) == residue:
        return view, residue
    view = follow(tx, view, differences_in_rows(tx, view, names=not spoken))
    return view, _less(theirs, fingerprint_of(view))


def fingerprint_of(view: View) -> Fingerprint:
    """The sums that the ledger has if it is as in the view."""
    forest = view.forest
    weights = forest.ids * forest.ids % prints.WEIGHTS
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
        for name, column in zip(prints.PROVIDER_SUMS, columns, strict=True)
    }
    for stock in view.stocks.values():
        sums[prints.USED, stock.class_id] = int(stock.used.sum())
        weighted = int((weights[stock.positions] * stock.used).sum())
        sums[prints.WEIGHTED_USED, stock.class_id] = weighted
    members = [(len(inside), weights[inside].sum(), uuid) for uuid, inside in view.members.items()]
    sums[prints.MEMBERS, 0] = sum(count for count, _, _ in members)
    sums[prints.WEIGHTED_MEMBERS, 0] = sum(
        int(weight) * view.aggregate_ids[uuid] for _, weight, uuid in members
    )
    return {key: total for key, total in sums.items() if total}


def differences_in_rows(tx: Transaction, view: View, *, names: bool) -> Changed:
    """What to read again so that the view is as the ledger, whoever wrote there."""
    rows = store.picture.all_providers(tx)
    known = dict(zip(view.forest.rows(), _generations(view), strict=True))
    there = {row._replace(generation=0): row.generation for row in rows}
    providers = {row.id for row, _ in known.items() ^ there.items()}
    pairs = {
        (provider, aggregate)
        for uuid, inside in view.members.items()
        for aggregate in [view.aggregate_ids[uuid]]
        for provider in view.forest.ids[inside].tolist()
    }
    providers |= {provider for provider, _ in pairs ^ set(store.picture.all_members(tx))}
    return Changed(providers=frozenset(providers), names=names, all_usage=True)


def _generations(view: View) -> list[Any]:
    """Of those that were left out, none is known."""
    return [*view.generations.tolist(), *(0 for _ in view.forest.left_out)]


def _less(theirs: Fingerprint, ours: Fingerprint) -> Residue:
    differences = {
        key: theirs.get(key, 0) - ours.get(key, 0) for key in dict.fromkeys([*theirs, *ours])
    }
    return {key: difference for key, difference in differences.items() if difference}
