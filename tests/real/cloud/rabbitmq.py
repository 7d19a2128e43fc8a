# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ with one virtual host for Neutron, one for Nova's API services, one for each cell."""

import base64
import hashlib
import json
import os
import socket

from tests.real.cloud.processes import Processes, wait_until
from tests.real.cloud.site import CELLS, HOST, MESSAGE_USER, Site
from tests.servers.processes import find_program

PACKAGE = "rabbitmq-server"
VIRTUAL_HOSTS = ("nova", "neutron", "ironic", *(f"nova_{cell}" for cell in CELLS))
_DEBIAN = "/usr/lib/rabbitmq/bin/rabbitmq-server"
_SALT = b"salt"


def start_rabbitmq(site: Site, processes: Processes) -> None:
    """Return when it takes connections."""
    folder = site.state("rabbitmq")
    folder.mkdir(parents=True)
    (folder / "definitions.json").write_text(json.dumps(_definitions(site)))
    (folder / "rabbitmq.conf").write_text(
        f"load_definitions = {folder / 'definitions.json'}\n"
        "vm_memory_high_watermark.absolute = 1GB\n"
        "disk_free_limit.absolute = 50MB\n"
    )
    (folder / "enabled_plugins").write_text("[].\n")
    epmd = [find_program("epmd", PACKAGE), "-port", site.ports["epmd"], "-address", HOST]
    processes.start("epmd", epmd, os.environ | _environment(site))
    restart_rabbitmq(site, processes)


def restart_rabbitmq(site: Site, processes: Processes) -> None:
    """Start it where it was stopped. Return when it takes connections."""
    processes.start("rabbitmq", [_server()], os.environ | _environment(site))
    wait_until(lambda: _accepts(site.ports["rabbitmq"]), "RabbitMQ takes connections")


def _server() -> str:
    # SAFETY: Debian's program in PATH changes to another account, and to that account's folders.
    if os.access(_DEBIAN, os.X_OK):
        return _DEBIAN
    return find_program("rabbitmq-server", PACKAGE, "/usr/sbin", "/usr/local/sbin")


def _environment(site: Site) -> dict[str, str]:
    folder = site.state("rabbitmq")
    return {
        "HOME": str(folder),
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(site.ports["epmd"]),
        "RABBITMQ_NODENAME": "trueup@localhost",
        "RABBITMQ_DIST_PORT": str(site.ports["erlang"]),
        "RABBITMQ_NODE_IP_ADDRESS": HOST,
        "RABBITMQ_NODE_PORT": str(site.ports["rabbitmq"]),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "no-such-file"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def _definitions(site: Site) -> dict[str, list[dict[str, object]]]:
    """What RabbitMQ makes at its first start, before it listens."""
    everything = {"configure": ".*", "write": ".*", "read": ".*"}
    return {
        "users": [
            {"name": MESSAGE_USER, "password_hash": _hashed(site.password), "tags": ""},
        ],
        "vhosts": [{"name": name} for name in VIRTUAL_HOSTS],
        "permissions": [
            {"user": MESSAGE_USER, "vhost": name} | everything for name in VIRTUAL_HOSTS
        ],
    }


def _hashed(password: str) -> str:
    """RabbitMQ's form of a password: four bytes of salt, then SHA-256 of both."""
    digest = hashlib.sha256(_SALT + password.encode()).digest()
    return base64.b64encode(_SALT + digest).decode()


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=5).close()
    except OSError:
        return False
    return True
