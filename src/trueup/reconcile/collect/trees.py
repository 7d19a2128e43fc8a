# SPDX-License-Identifier: Apache-2.0
"""Reads whole trees of providers, up to the top and down to the leaves."""

from collections.abc import Mapping

from trueup.reconcile.facts import Provider
from trueup.reconcile.sources.placement.contract import LedgerLookup


def whole_trees(ledger: LedgerLookup, trees: Mapping[str, Provider]) -> dict[str, Provider]:
    """These trees, and all trees that a parent or a child links to them.

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
