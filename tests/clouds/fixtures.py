# SPDX-License-Identifier: Apache-2.0
"""`recorded_cloud(name, placement="upstream", own_cells=False)`: a cloud, loaded and served."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.clouds import recordings
from tests.clouds.cloud import RecordedCloud, Site, running_cloud
from tests.clouds.loading import load, nova_url
from tests.clouds.nova_services import NovaServices, beside_placement
from tests.servers.databases import DatabaseServer


@pytest.fixture(scope="session")
def recorded_cells(mariadb_server: DatabaseServer) -> Iterator[Callable[[str], Mapping[str, str]]]:
    """The cell databases of a recorded cloud, the same for the whole session.

    They are most of what loading a cloud costs; what is tested only reads them, and several
    clouds have some in common.
    """
    loaded: dict[str, str] = {}

    def cell(name: str, database: str) -> str:
        key = recordings.fingerprint(name, database)
        if key not in loaded:
            loaded[key] = load(name, database, mariadb_server)
        return nova_url(loaded[key])

    yield lambda name: {
        cell_name: cell(name, database) for cell_name, database in recordings.CELLS.items()
    }
    if not mariadb_server.private:
        for url in loaded.values():
            mariadb_server.drop_database(url)


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


@pytest.fixture
def services_beside() -> Iterator[Callable[[RecordedCloud], NovaServices]]:
    """Puts Nova's compute services beside the Placement of a cloud that has its own cells."""
    with contextlib.ExitStack() as stack:

        def start(cloud: RecordedCloud) -> NovaServices:
            services = NovaServices(cloud.nova_api_url, cloud.cell_urls, cloud.placement_url)
            url = stack.enter_context(beside_placement(services))
            text = cloud.nova_conf.read_text()
            cloud.nova_conf.write_text(text.replace(cloud.placement_url, url))
            return services

        yield start
