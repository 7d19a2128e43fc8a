# SPDX-License-Identifier: Apache-2.0
"""Whole trees: what is read of a tree of providers goes up to its top, and down to its leaves."""

from collections.abc import Mapping

from trueup.reconcile.facts import Provider
from trueup.reconcile.sources.placement.contract import LedgerLookup


def whole_trees(ledger: LedgerLookup, trees: Mapping[str, Provider]) -> dict[str, Provider]:
    """These trees, with those that have a parent or a child of their providers.

    Where a child names another root than its parent, both trees are broken. SAFETY: each of them
    alone may look whole.
    """
    known, asked = dict(trees), frozenset[str]()
    while unasked := known.keys() - asked:
        asked |= known.keys()
        parents = {known[uuid].parent for uuid in unasked} - known.keys() - {None}
        near = {*filter(None, parents), *ledger.children(unasked)} - known.keys()
        if near:
            known |= ledger.trees(near, ())
    return known
