# SPDX-License-Identifier: Apache-2.0
"""Store to columns, from nothing."""

from trueup.placement.index import follow
from trueup.placement.index.columns import View
from trueup.placement.store.database import Database


def load(database: Database) -> View:
    """A picture of the ledger at this moment."""
    with database.reading(snapshot=True) as tx:
        return follow.load(tx)
