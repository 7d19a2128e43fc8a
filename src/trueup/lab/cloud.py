# SPDX-License-Identifier: Apache-2.0
"""A small cloud in a box: databases in a folder, Placement on a free port, and a nova.conf."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from wsgiref.types import WSGIApplication

from trueup.lab.blueprint import CELL_ZERO, Blueprint
from trueup.lab.drift import Drift, DriftTarget, Planted, plant
from trueup.lab.generate import BlueprintOptions, generate_blueprint
from trueup.lab.ledger import fill_ledger
from trueup.lab.nova.api_rows import api_rows
from trueup.lab.nova.cell_rows import cell_rows
from trueup.lab.nova.databases import NovaDatabases, fill, sqlite_url
from trueup.lab.placement_client import ADMIN_TOKEN, PlacementClient
from trueup.lab.serving import serve
from trueup.placement.app import make_app
from trueup.placement.store import schema

# Creates the tables in the empty database at this URL, and returns a Placement service for it.
PlacementMaker = Callable[[str], WSGIApplication]

_NOVA_CONF = """\
# The part of nova.conf that names Nova's databases and Placement.
[api_database]
connection = {api_database}

[database]
connection = {cell_database}

[placement]
auth_type = admin_token
endpoint = {placement_url}
token = {token}
"""


@dataclass(frozen=True, slots=True)
class SmallCloud:
    """A cloud that runs until the block of `small_cloud` ends. Its files are kept."""

    folder: Path
    nova_conf: Path
    placement_url: str
    seed: int
    blueprint: Blueprint
    databases: NovaDatabases
    placement: PlacementClient

    def plant(self, drift: Drift | None = None, *, seed: int | None = None) -> tuple[Planted, ...]:
        """Plant drift: five of each kind, or as many as `drift` says.

        Raises `NotEnoughInstances` before anything is changed.
        """
        target = DriftTarget(self.databases, self.placement, self.blueprint.now)
        return plant(target, drift or Drift(), self.seed if seed is None else seed)


def trueup_placement(database_url: str) -> WSGIApplication:
    """Trueup's own Placement service, without authentication by keystone."""
    schema.create(database_url)
    application: WSGIApplication = make_app(database_url, {"api": {"auth_strategy": "noauth2"}})
    return application


@contextmanager
def small_cloud(
    folder: Path,
    *,
    seed: int = 7,
    hosts: int = 36,
    instances: int = 400,
    now: datetime | None = None,
    placement: PlacementMaker = trueup_placement,
) -> Iterator[SmallCloud]:
    """Build a healthy cloud in an empty or new folder; its Placement answers while the block runs.

    The same seed, size and `now` give the same cloud. `now` is in UTC without a zone; the default
    is the current time. Raises `FileExistsError` if the folder is not empty, `ValueError` below 4
    hosts or 20 instances, and `CloudTooFull` if the instances do not fit.
    """
    moment = now or datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    blueprint = generate_blueprint(BlueprintOptions(seed, hosts, instances, moment))
    databases = _build_nova(_empty(folder), blueprint)
    application = placement(sqlite_url(folder / "placement.sqlite"))
    try:
        client = PlacementClient(application)
        fill_ledger(client, blueprint)
        with serve(application) as url:
            yield SmallCloud(
                folder=folder,
                nova_conf=_write_nova_conf(databases, url),
                placement_url=url,
                seed=seed,
                blueprint=blueprint,
                databases=databases,
                placement=client,
            )
    finally:
        close = getattr(application, "close", None)
        if close is not None:
            close()


def _empty(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    return folder


def _build_nova(folder: Path, blueprint: Blueprint) -> NovaDatabases:
    databases = NovaDatabases(folder)
    databases.create([cell.name for cell in blueprint.cells])
    fill(databases.api_url, api_rows(blueprint, databases.cell_url))
    for cell in blueprint.cells:
        fill(databases.cell_url(cell.name), cell_rows(blueprint, cell))
    return databases


def _write_nova_conf(databases: NovaDatabases, placement_url: str) -> Path:
    values = {
        "api_database": databases.api_url,
        # As on a controller: [database] is the database of cell0.
        "cell_database": databases.cell_url(CELL_ZERO.name),
        "placement_url": placement_url,
        "token": ADMIN_TOKEN,
    }
    # oslo.config reads `$` as a reference to another option, and `$$` as a dollar sign.
    written = {name: value.replace("$", "$$") for name, value in values.items()}
    path = databases.folder / "nova.conf"
    path.write_text(_NOVA_CONF.format(**written), encoding="utf-8")
    return path
