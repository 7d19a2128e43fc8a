# SPDX-License-Identifier: Apache-2.0
"""An empty Placement in a folder, and a client of it: plans are rehearsed on it."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve
from trueup.placement import config
from trueup.placement.app import make_embedded_service
from trueup.placement.store import schema
from trueup.reconcile.copies.ledger_copy import HeldAmount
from trueup.reconcile.sources.connect import placement_at
from trueup.reconcile.sources.placement.client import Placement

_DATABASE = "placement.sqlite"

_SET_AMOUNT = """
UPDATE allocations SET used = ? WHERE consumer_id = ?
AND resource_provider_id = (SELECT id FROM resource_providers WHERE uuid = ?)
AND resource_class_id = (SELECT id FROM resource_classes WHERE name = ?)
"""


def set_amounts(folder: Path, amounts: Iterable[HeldAmount]) -> None:
    """Write amounts that Placement's API refuses into the tables of the service in a folder."""
    rows = [(held.amount, held.consumer, held.provider, held.resource_class) for held in amounts]
    with closing(sqlite3.connect(folder / _DATABASE)) as connection:
        connection.executemany(_SET_AMOUNT, rows)
        connection.commit()


@contextmanager
def embedded_placement(folder: Path) -> Iterator[Placement]:
    """A client of an empty service, whose database is a file in the folder, while a block runs."""
    url = sqlite_url(folder / _DATABASE)
    schema.create(url)
    settings = config.from_mapping({"placement_database": {"connection": url}})
    with serve(make_embedded_service(settings)) as address:
        placement = placement_at(address)
        yield placement
        placement.close()
