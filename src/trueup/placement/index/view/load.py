# SPDX-License-Identifier: Apache-2.0
"""Store to columns, from nothing."""

from trueup.placement import store
from trueup.placement.index.view.build import arrange
from trueup.placement.index.view.columns import View
from trueup.placement.store.database import Transaction


def load(tx: Transaction) -> View:
    """The view of this snapshot."""
    return arrange(store.picture.whole(tx))
