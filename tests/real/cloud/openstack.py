# SPDX-License-Identifier: Apache-2.0
"""The whole cloud: stood up in order, stopped whatever happens."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import openstack
import sqlalchemy
from openstack.connection import Connection
from sqlalchemy.pool import NullPool

from tests.deployment.relay import Relay, relay_to
from tests.real.cloud import catalog, rabbitmq, schemas
from tests.real.cloud.balancer import balancer_at
from tests.real.cloud.configuration import write_configuration
from tests.real.cloud.neutron import neutron_command, neutron_environment
from tests.real.cloud.placement import PlacementServices
from tests.real.cloud.processes import Processes, answers_http, processes_in, run, wait_until
from tests.real.cloud.site import (
    CELL_OF_COMPUTE,
    CELLS,
    FRAGILE_CELL,
    REGION,
    Site,
    choose_ports,
    program,
)
from tests.real.cloud.web import uwsgi_command
from tests.servers.databases import DatabaseServer
from tests.servers.mariadb import private_mariadb

# A primary that replicas can follow.
PRIMARY = ("--log-bin", "--server-id=1", "--binlog-format=ROW")
# What was committed is there after the server was killed.
DURABLE = ("--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=1")


# Older releases of Placement do not answer to the microversion of our connection.
_PROVIDER = "SELECT uuid FROM resource_providers WHERE name = :name"


@dataclass(frozen=True)
class Cloud:
    """A running control plane."""

    site: Site
    processes: Processes
    placement: PlacementServices
    server: DatabaseServer
    # Everybody reaches the database of FRAGILE_CELL over it.
    relay: Relay

    @cached_property
    def connection(self) -> Connection:
        """openstacksdk as the administrator; for one thread."""
        return self.connect()

    def connect(self) -> Connection:
        """A new connection, which reads the catalog at its first request."""
        return openstack.connect(
            auth_url=self.site.identity_url,
            username="admin",
            password=self.site.password,
            project_name="admin",
            user_domain_name="Default",
            project_domain_name="Default",
            region_name=REGION,
            compute_default_microversion="2.96",
            placement_default_microversion="1.39",
            load_yaml_config=False,
            load_envvars=False,
        )

    def sql(self, database: str, statement: str, **values: object) -> list[sqlalchemy.Row]:
        """Run one statement; its rows, if it has any. No connection stays open."""
        engine = sqlalchemy.create_engine(self.site.database(database), poolclass=NullPool)
        with engine.begin() as connection:
            done = connection.execute(sqlalchemy.text(statement), values)
            return list(done.all()) if done.returns_rows else []

    def cell_of(self, host: str) -> str:
        """The database of the cell that a host is in."""
        return f"nova_{CELL_OF_COMPUTE[host]}"

    def restart_computes(self, *hosts: str) -> None:
        """nova-compute reads and reports everything anew. Return when each works again."""
        for host in hosts:
            self.processes.kill(_compute(host))
        self.start_computes(*hosts)

    def kill_compute(self, host: str) -> None:
        """The host dies, and its operator tells Nova so."""
        self.processes.kill(_compute(host))
        self._service(host, forced_down=True)

    def revive_compute(self, host: str) -> None:
        """The host comes back; nova-compute cleans up after evacuations when it starts."""
        self.start_computes(host)
        wait_until(lambda: self._allowed_up(host), f"{host} has cleaned up")

    def start_computes(self, *hosts: str) -> None:
        """Return when each of them works: it reports to Nova, and has its provider."""
        # Nova's `state` does not tell: it stays "up" for a while when a process has ended.
        before = {host: self._reports(host) for host in hosts}
        for host in hosts:
            _start_nova(self.site, self.processes, _compute(host), host)
        for host in hosts:
            wait_until(lambda one=host: self._reports(one) > before[one], f"{host} reports")
            wait_until(lambda one=host: self._has_provider(one), f"{host} has a provider")

    def report_counts(self) -> dict[str, int]:
        """For each host: how often its nova-compute has reported."""
        return {host: self._reports(host) for host in CELL_OF_COMPUTE}

    def start_service(self, name: str) -> None:
        """A conductor, as `nova-conductor-cell1`, or the scheduler, after it was killed."""
        cell = name.rpartition("-")[2]
        _start_nova(self.site, self.processes, name, cell if cell in CELLS else "nova")

    def start_neutron(self) -> None:
        command, environment = neutron_command(self.site), neutron_environment(self.site)
        self.processes.start("neutron-api", command, self.site.client_environment | environment)

    def _reports(self, host: str) -> int:
        """How often nova-compute of this host has reported."""
        statement = "SELECT report_count FROM services WHERE deleted = 0 AND host = :host"
        return sum(row[0] for row in self.sql(self.cell_of(host), statement, host=host))

    def _has_provider(self, host: str) -> bool:
        return bool(self.sql("placement", _PROVIDER, name=host))

    def _allowed_up(self, host: str) -> bool:
        """Nova refuses it until the host has cleaned up after evacuations."""
        try:
            self._service(host, forced_down=False)
        except openstack.exceptions.BadRequestException:
            return False
        return True

    def _service(self, host: str, forced_down: bool) -> None:
        [service] = self.connection.compute.services(host=host, binary="nova-compute")
        self.connection.compute.update_service_forced_down(
            service, host, "nova-compute", forced_down
        )


@contextlib.contextmanager
def running_cloud(folder: Path, placement: str) -> Iterator[Cloud]:
    """A new cloud, without a server, with this kind of Placement. It is gone at the end."""
    with contextlib.ExitStack() as ended:
        server = ended.enter_context(private_mariadb((*PRIMARY, *DURABLE)))
        relay = ended.enter_context(relay_to(server.url.port))
        relayed = {f"nova_{FRAGILE_CELL}": relay.port}
        site = Site(folder, choose_ports(), secrets.token_hex(16), server.url, relayed)
        processes = ended.enter_context(processes_in(site.logs))
        balancer = ended.enter_context(balancer_at(site.ports["placement"]))
        write_configuration(site)
        rabbitmq.start_rabbitmq(site, processes)
        schemas.create_schemas(site, server)
        services = PlacementServices(site, processes, balancer)
        cloud = Cloud(site, processes, services, server, relay)
        _start_services(cloud, placement)
        yield cloud


def _start_services(cloud: Cloud, placement: str) -> None:
    site, processes = cloud.site, cloud.processes
    environment = site.client_environment | {
        "OS_KEYSTONE_CONFIG_DIR": str(site.configuration("keystone"))
    }
    keystone = uwsgi_command(site.ports["keystone"], "keystone.wsgi.api")
    processes.start("keystone", keystone, environment)
    wait_until(lambda: answers_http(site.ports["keystone"]), "keystone answers")
    catalog.register_services(site, cloud.connect())
    cloud.placement.swap_to(placement)
    _start_web_services(site, processes)
    cloud.start_neutron()
    _start_nova(site, processes, "nova-conductor", "nova")
    for cell in CELLS:
        _start_nova(site, processes, f"nova-conductor-{cell}", cell)
    _start_nova(site, processes, "nova-scheduler", "nova")
    for service in ("nova", "glance", "neutron"):
        wait_until(lambda name=service: answers_http(site.ports[name]), f"{service} answers")
    cloud.start_computes(*CELL_OF_COMPUTE)
    catalog.create_what_instances_need(cloud.connection)
    nova_manage(site, "cell_v2", "discover_hosts", "--by-service")


def _start_web_services(site: Site, processes: Processes) -> None:
    for name, module, variable in (
        ("glance", "glance.wsgi.api", "OS_GLANCE_CONFIG_DIR"),
        ("nova", "nova.wsgi.osapi_compute", "OS_NOVA_CONFIG_DIR"),
    ):
        environment = site.client_environment | {variable: str(site.configuration(name))}
        processes.start(f"{name}-api", uwsgi_command(site.ports[name], module), environment)


def _start_nova(site: Site, processes: Processes, name: str, configuration: str) -> None:
    kind = "-".join(name.split("-")[:2])
    file = site.configuration("nova", f"{configuration}.conf")
    command = [program("openstack", kind), "--config-file", file]
    processes.start(name, command, site.client_environment)


def _compute(host: str) -> str:
    return f"nova-compute-{host}"


def nova_manage(site: Site, *words: str, expected: tuple[int, ...] = (0,)) -> tuple[int, str]:
    """The exit code of a nova-manage command, and what it printed."""
    command = [program("openstack", "nova-manage"), "--config-file", site.nova_conf, *words]
    environment = site.client_environment | {"OS_NOVA_DISABLE_EVENTLET_PATCHING": "true"}
    done = run(command, environment, expected)
    return done.returncode, done.stdout
