# SPDX-License-Identifier: Apache-2.0
"""An empty Placement in a folder, and a client of it: plans are rehearsed on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve
from trueup.placement import config
from trueup.placement.app import make_embedded_service
from trueup.placement.store import schema
from trueup.reconcile.sources.connect import placement_at
from trueup.reconcile.sources.placement.client import Placement


@contextmanager
def embedded_placement(folder: Path) -> Iterator[Placement]:
    """A client of an empty service, whose database is a file in the folder, while a block runs."""
    url = sqlite_url(folder / "placement.sqlite")
    schema.create(url)
    settings = config.from_mapping({"placement_database": {"connection": url}})
    with serve(make_embedded_service(settings)) as address:
        placement = placement_at(address)
        yield placement
        placement.close()
