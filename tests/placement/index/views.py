# SPDX-License-Identifier: Apache-2.0
"""Views of a service's ledger."""

from tests.placement.client import Client
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.refresh import load


def true_view(client: Client) -> View:
    """A view that is loaded now."""
    with client.application.database.reading(snapshot=True) as tx:
        return load(tx)
