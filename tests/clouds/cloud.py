# SPDX-License-Identifier: Apache-2.0
"""Loads a recorded cloud and serves its Placement, for commands that read clouds."""

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.clouds import recordings
from tests.clouds.loading import keep_alive, loaded_databases, map_cell, nova_url
from tests.servers.databases import DatabaseServer
from tests.servers.placement import PlacementServer, placement_server

TOKEN = "admin"
# Under noauth2 the token is the user, and the user "admin" may do everything.
NOVA_CONF = """\
[api_database]
connection = {nova_api_url}

[database]
connection = {cell1_url}

[placement]
auth_type = admin_token
endpoint = {placement_url}
endpoint_override = {placement_url}
token = {token}
region_name = RegionOne
"""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class RecordedCloud:
    """URLs are SQLAlchemy's, except `placement_url`. Break things with `tests.clouds.damage`.

    Unless it has cells of its own, other tests read the same cell databases.
    """

    name: str
    nova_conf: Path
    nova_api_url: str
    cell_urls: Mapping[str, str]
    placement_database_url: str
    placement: PlacementServer
    own_cells: bool

    @property
    def placement_url(self) -> str:
        return self.placement.url


@dataclass(frozen=True, slots=True)
class Site:
    """Where clouds are loaded: the database server, and a folder for their nova.conf."""

    server: DatabaseServer
    folder: Path


@contextlib.contextmanager
def running_cloud(
    site: Site, name: str, placement: str, shared_cells: Mapping[str, str] | None = None
) -> Iterator[RecordedCloud]:
    """Load a recorded cloud and serve its Placement database with an implementation."""
    with contextlib.ExitStack() as stack:
        names = recordings.DATABASES if shared_cells is None else recordings.ALWAYS_OWN
        urls = stack.enter_context(loaded_databases(name, names, site.server))
        service = stack.enter_context(placement_server(placement, urls[recordings.PLACEMENT]))
        cell_urls = shared_cells or {
            cell: nova_url(urls[database]) for cell, database in recordings.CELLS.items()
        }
        nova_api_url = nova_url(urls[recordings.NOVA_API])
        for cell, url in cell_urls.items():
            map_cell(nova_api_url, cell, url)
            keep_alive(url)
        yield RecordedCloud(
            name=name,
            nova_conf=_write_nova_conf(site, nova_api_url, cell_urls["cell1"], service.url),
            nova_api_url=nova_api_url,
            cell_urls=cell_urls,
            placement_database_url=urls[recordings.PLACEMENT],
            placement=service,
            own_cells=shared_cells is None,
        )


def _write_nova_conf(site: Site, nova_api_url: str, cell1_url: str, placement_url: str) -> Path:
    nova_conf = site.folder / f"nova{next(_numbers)}.conf"
    nova_conf.write_text(
        NOVA_CONF.format(
            nova_api_url=_escaped(nova_api_url),
            cell1_url=_escaped(cell1_url),
            placement_url=placement_url,
            token=TOKEN,
        )
    )
    return nova_conf


def _escaped(value: str) -> str:
    """oslo.config reads $ as the start of another option's name."""
    return value.replace("$", "$$")
