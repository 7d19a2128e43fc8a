# SPDX-License-Identifier: Apache-2.0
"""Whole trees: what is read of a tree of providers goes up to its top."""

from collections.abc import Mapping

from trueup.reconcile.facts import Provider
from trueup.reconcile.sources.placement.contract import LedgerLookup


def whole_trees(ledger: LedgerLookup, trees: Mapping[str, Provider]) -> dict[str, Provider]:
    """These trees, with the trees of parents that name another root: such a tree is broken."""
    known, asked = dict(trees), frozenset[str]()
    while parents := {row.parent for row in known.values() if row.parent} - known.keys() - asked:
        asked |= parents
        known |= ledger.trees(parents, ())
    return known
