# SPDX-License-Identifier: Apache-2.0
"""Views of a service's ledger."""

from tests.placement.client import Client
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.refresh import load


def true_view(client: Client) -> View:
    """The ledger of this moment, from nothing."""
    with client.application.database.reading(snapshot=True) as tx:
        return load(tx)
