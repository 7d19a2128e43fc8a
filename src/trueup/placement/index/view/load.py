# SPDX-License-Identifier: Apache-2.0
"""Read the whole ledger into a new view."""

from trueup.placement import store
from trueup.placement.index.view.build import build
from trueup.placement.index.view.columns import View
from trueup.placement.store.database import Transaction


def load(tx: Transaction) -> View:
    """The view of this database snapshot."""
    return build(store.picture.whole(tx))
