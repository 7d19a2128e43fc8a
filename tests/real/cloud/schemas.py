# SPDX-License-Identifier: Apache-2.0
"""The databases, and the tables that each service makes in them with its own command."""

import getpass
import grp
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.real.cloud import dumps
from tests.real.cloud.processes import run
from tests.real.cloud.site import CELLS, DATABASES, REGION, Site, program
from tests.servers.databases import MARIADB_CREATE, DatabaseServer

CONNECTIONS = 1000


def create_schemas(site: Site, server: DatabaseServer) -> None:
    """Everything up to the first start of a service. Each service's commands run in order."""
    server.execute(f"SET GLOBAL max_connections = {CONNECTIONS}")
    for name in DATABASES:
        server.execute(MARIADB_CREATE.format(name=name))
    jobs: Sequence[Callable[[Site], None]] = (_nova, _keystone, _neutron, _glance, _placement)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(job, site) for job in jobs]:
            done.result()


def _command(site: Site, name: str, *words: object) -> None:
    run([program("openstack", name), *words], site.client_environment)


def _keystone(site: Site) -> None:
    configuration = ("--config-file", site.configuration("keystone", "keystone.conf"))
    account = ("--keystone-user", getpass.getuser())
    group = ("--keystone-group", grp.getgrgid(os.getgid()).gr_name)
    url = site.identity_url
    commands: Sequence[Sequence[object]] = (
        ("db_sync",),
        ("fernet_setup", *account, *group),
        ("credential_setup", *account, *group),
        (
            "bootstrap",
            *("--bootstrap-password", site.password),
            *("--bootstrap-admin-url", url),
            *("--bootstrap-internal-url", url),
            *("--bootstrap-public-url", url),
            *("--bootstrap-region-id", REGION),
        ),
    )
    for words in commands:
        _command(site, "keystone-manage", *configuration, *words)


def _glance(site: Site) -> None:
    configuration = site.configuration("glance", "glance-api.conf")
    _command(site, "glance-manage", "--config-file", configuration, "db_sync")


def _neutron(site: Site) -> None:
    files = [site.configuration("neutron", name) for name in ("neutron.conf", "ml2_conf.ini")]
    named = [word for file in files for word in ("--config-file", file)]
    _command(site, "neutron-db-manage", *named, "upgrade", "heads")


def _placement(site: Site) -> None:
    configuration = site.configuration("placement", "placement.conf")
    _command(site, "placement-manage", "--config-file", configuration, "db", "sync")


def _nova(site: Site) -> None:
    main = ("--config-file", site.nova_conf)
    _command(site, "nova-manage", *main, "api_db", "sync")
    cell0 = ("--database_connection", site.database("nova_cell0"))
    _command(site, "nova-manage", *main, "cell_v2", "map_cell0", *cell0)
    _command(site, "nova-manage", *main, "db", "sync", "--local_cell")
    for cell in CELLS:
        # A `db sync` takes a quarter of a minute, and makes the same in every cell.
        server = site.database_server
        dumps.copy(server, ["nova_cell0"], server.set(database=f"nova_{cell}"))
        mapped = (
            *("--name", cell),
            *("--transport-url", site.messages(f"nova_{cell}")),
            *("--database_connection", site.database(f"nova_{cell}")),
        )
        _command(site, "nova-manage", *main, "cell_v2", "create_cell", *mapped)
