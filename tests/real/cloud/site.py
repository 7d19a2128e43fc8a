# SPDX-License-Identifier: Apache-2.0
"""What every part of the cloud has to know: folders, ports, names, the password."""

import os
import random
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL

from tests.tree import REPOSITORY

ENVIRONMENTS = REPOSITORY / ".venv" / "real"
HOST = "127.0.0.1"
REGION = "RegionOne"
MESSAGE_USER = "openstack"

CELL_OF_COMPUTE: Mapping[str, str] = {
    "compute1": "cell1",
    "compute2": "cell1",
    "compute3": "cell2",
}
CELLS = tuple(sorted(set(CELL_OF_COMPUTE.values())))
# Its database can be made unreachable.
FRAGILE_CELL = "cell2"
DATABASES = (
    "keystone",
    "placement",
    "glance",
    "neutron",
    "nova_api",
    "nova_cell0",
    *(f"nova_{cell}" for cell in CELLS),
)
# `placement` is what the catalog names; the two services behind it have ports of their own.
LISTENERS = (
    "keystone",
    "placement",
    "placement-upstream",
    "placement-trueup",
    "nova",
    "glance",
    "neutron",
    "ironic",
    "rabbitmq",
    "epmd",
    "erlang",
)
# Below the ports that Linux hands out for outgoing connections.
PORTS = range(20000, 32000)


@dataclass(frozen=True)
class Site:
    """One cloud: where its files are, where its services listen, how its databases are reached."""

    folder: Path
    ports: Mapping[str, int]
    password: str
    database_server: URL
    # Databases that are reached over a port of their own, which can be closed.
    relayed: Mapping[str, int]

    def configuration(self, *parts: str) -> Path:
        return self.folder.joinpath("etc", *parts)

    def state(self, *parts: str) -> Path:
        return self.folder.joinpath("state", *parts)

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def url(self, service: str, path: str = "") -> str:
        return f"http://{HOST}:{self.ports[service]}{path}"

    @property
    def identity_url(self) -> str:
        return self.url("keystone", "/v3")

    def database(self, name: str) -> str:
        port = self.relayed.get(name, self.database_server.port)
        url = self.database_server.set(database=name, port=port, query={"charset": "utf8"})
        return url.render_as_string(hide_password=False)

    def messages(self, virtual_host: str) -> str:
        address = f"{HOST}:{self.ports['rabbitmq']}"
        return f"rabbit://{MESSAGE_USER}:{self.password}@{address}/{virtual_host}"

    @property
    def nova_conf(self) -> Path:
        return self.configuration("nova", "nova.conf")

    @property
    def client_environment(self) -> dict[str, str]:
        """What an administrator's shell has: the OS_* variables of this cloud, and no others."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
        return kept | {
            "HOME": str(self.folder),
            "PYTHONWARNINGS": "ignore",
            "OS_AUTH_URL": self.identity_url,
            "OS_IDENTITY_API_VERSION": "3",
            "OS_USERNAME": "admin",
            "OS_PASSWORD": self.password,
            "OS_PROJECT_NAME": "admin",
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
            "OS_REGION_NAME": REGION,
            "OS_COMPUTE_API_VERSION": "2.96",
            "OS_PLACEMENT_API_VERSION": "1.39",
        }


def program(environment: str, name: str) -> str:
    """A program of one of the two environments that `make real` installs."""
    return str(ENVIRONMENTS / environment / "bin" / name)


def choose_ports() -> dict[str, int]:
    """A free port for each listener. They have to be known before anything is started."""
    free = _free_ports()
    return {name: next(free) for name in LISTENERS}


def _free_ports() -> Iterator[int]:
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as listener:
            try:
                listener.bind((HOST, port))
            except OSError:
                continue
        yield port
