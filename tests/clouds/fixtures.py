# SPDX-License-Identifier: Apache-2.0
"""`recorded_cloud(name, placement="upstream", own_cells=False)`: a cloud, loaded and served."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.clouds.cloud import RecordedCloud, Site, running_cloud
from tests.clouds.loading import loaded_cells
from tests.servers.databases import DatabaseServer


@pytest.fixture(scope="session")
def recorded_cells(mariadb_server: DatabaseServer) -> Iterator[Callable[[str], Mapping[str, str]]]:
    """The cell databases of a recorded cloud, loaded once for the whole session.

    They are five sixths of what loading a cloud costs, and what is tested only reads them.
    """
    loaded: dict[str, Mapping[str, str]] = {}
    with contextlib.ExitStack() as dropped_at_the_end:

        def cells(name: str) -> Mapping[str, str]:
            if name not in loaded:
                loaded[name] = dropped_at_the_end.enter_context(loaded_cells(name, mariadb_server))
            return loaded[name]

        yield cells


@pytest.fixture
def recorded_cloud(
    mariadb_server: DatabaseServer,
    recorded_cells: Callable[[str], Mapping[str, str]],
    tmp_path: Path,
) -> Iterator[Callable[..., RecordedCloud]]:
    """As many as a test wants, each with a Placement server and databases of its own.

    Only the cell databases are shared, unless the test asks for `own_cells` to change them.
    """
    site = Site(mariadb_server, tmp_path)
    with contextlib.ExitStack() as stopped_at_the_end:

        def start(
            name: str, placement: str = "upstream", *, own_cells: bool = False
        ) -> RecordedCloud:
            cells = None if own_cells else recorded_cells(name)
            return stopped_at_the_end.enter_context(running_cloud(site, name, placement, cells))

        yield start
