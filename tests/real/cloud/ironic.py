# SPDX-License-Identifier: Apache-2.0
"""Ironic with hardware that is not there, and the nova-computes that serve its nodes.

Two conductors, and two nova-computes that share one conductor group as Nova's hash ring says.
"""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import openstack
from openstack.baremetal.v1.node import Node
from openstack.compute.v2.server import Server
from openstack.connection import Connection

from tests.real.cloud import catalog
from tests.real.cloud.configuration import account, as_text, authentication, nova_sections
from tests.real.cloud.openstack import Cloud, nova_manage
from tests.real.cloud.processes import answers_http, run, wait_until
from tests.real.cloud.site import REGION, Site, program
from tests.real.cloud.tenant import Tenant
from tests.real.cloud.web import uwsgi_command
from tests.servers.databases import MARIADB_CREATE

CONDUCTORS = ("conductor1", "conductor2")
HOSTS = ("ironic1", "ironic2")
CELL = "cell1"
GROUP = "rack1"
NODES = 20
CLASS = "CUSTOM_BAREMETAL"
FLAVOR = "baremetal"
_NOT_CLAIMED = ("VCPU", "MEMORY_MB", "DISK_GB")
_SET_INVENTORY = "resource provider inventory class set"
_NUMBERS = itertools.count(1)
_INTERFACES = (
    *("bios", "boot", "deploy", "firmware", "inspect", "management", "power", "raid", "rescue"),
    "vendor",
)


@dataclass(frozen=True)
class BareMetal:
    """The nodes of Ironic, who serves them, and what Nova and Placement say of them."""

    cloud: Cloud
    # Ironic's nodes belong to the system, so its administrator is one of the system.
    connection: Connection
    flavors: list[str] = field(default_factory=list)

    def enrol(self, count: int) -> None:
        """Nodes that Ironic has cleaned, and offers."""
        baremetal = self.connection.baremetal
        nodes = [self._node() for _ in range(count)]
        for node in nodes:
            baremetal.set_node_provision_state(node, "manage", wait=True)
            # Nova reserves a node of which Ironic does not know whether it is on.
            baremetal.set_node_power_state(node, "power off", wait=True)
            baremetal.set_node_provision_state(node, "provide", wait=True)

    def _node(self) -> Node:
        return self.connection.baremetal.create_node(
            name=f"node{next(_NUMBERS)}",
            driver="fake-hardware",
            resource_class="baremetal",
            conductor_group=GROUP,
        )

    def boot(self) -> Server:
        """One after another: two at once may be sent to one node, and the second fails."""
        compute = self.cloud.connection.compute
        if not self.flavors:
            made = compute.create_flavor(name=FLAVOR, ram=1024, vcpus=1, disk=10)
            none = {f"resources:{name}": "0" for name in _NOT_CLAIMED}
            compute.create_flavor_extra_specs(made, {f"resources:{CLASS}": "1"} | none)
            self.flavors.append(made.id)
        image = self.cloud.connection.image.find_image(catalog.IMAGE, ignore_missing=False)
        made = compute.create_server(
            name="metal", flavor_id=self.flavors[0], image_id=image.id, networks="none"
        )
        return Tenant(self.cloud.connection).wait_for(made, "ACTIVE")

    def boot_on(self, host: str) -> Server:
        """An instance on a node that this nova-compute serves."""
        for _ in range(NODES):
            server = self.boot()
            if server.compute_host == host:
                return server
        raise AssertionError(f"no instance of {NODES} came to {host}")

    def start_computes(self, *hosts: str) -> None:
        """Return when every node is served, and has its provider."""
        for host in hosts:
            file = self.cloud.site.configuration("nova", f"{host}.conf")
            command = [program("openstack", "nova-compute"), "--config-file", file]
            environment = self.cloud.site.client_environment
            self.cloud.processes.start(f"nova-compute-{host}", command, environment)
        wait_until(self.is_served, "each node is served", 180)
        nova_manage(self.cloud.site, "cell_v2", "discover_hosts", "--by-service")

    def is_served(self) -> bool:
        """Whether Nova knows each node, and Placement too."""
        known = {
            row[0] for row in self.cloud.sql("placement", "SELECT uuid FROM resource_providers")
        }
        hosts = self.hosts()
        return len(hosts) == NODES and hosts.keys() <= known

    def is_shared(self) -> bool:
        """Whether each nova-compute has nodes: the first to come up takes all, and gives some."""
        return set(self.hosts().values()) == set(HOSTS)

    def is_settled(self) -> bool:
        """Whether Nova reserves the nodes that Ironic has something on, and no others."""
        return self.reserved() == {
            node.id
            for node in self.connection.baremetal.nodes(details=True)
            if node.instance_id or node.is_maintenance or node.provision_state != "available"
        }

    @contextlib.contextmanager
    def unreserved(self, node: str, host: str) -> Iterator[None]:
        """As a plan says that declines: with nova-compute stopped, a claim of the node is taken."""
        self.cloud.processes.kill(f"nova-compute-{host}")
        words = (*_SET_INVENTORY.split(), node, CLASS, "--total", "1", "--max_unit", "1")
        command = [program("openstack", "openstack"), *words, "--reserved", "0"]
        run(command, self.cloud.site.client_environment)
        try:
            yield
        finally:
            self.start_computes(host)
            wait_until(lambda: node in self.reserved(), "nova-compute reserves it again", 180)

    def restart_compute(self, host: str) -> None:
        self.cloud.processes.kill(f"nova-compute-{host}")
        self.start_computes(host)

    def move(self, node: str, host: str) -> None:
        """The node goes to another nova-compute, by Nova's own command."""
        cell = self.cloud.site.configuration("nova", f"{CELL}.conf")
        which = ("--ironic-node-uuid", node, "--destination-host", host)
        words = ("--config-file", str(cell), "db", "ironic_compute_node_move", *which)
        nova_manage(self.cloud.site, *words)

    def hosts(self) -> dict[str, str]:
        """The nova-compute of each node, by Nova's compute nodes."""
        statement = (
            "SELECT uuid, host FROM compute_nodes WHERE deleted = 0 AND hypervisor_type = 'ironic'"
        )
        return {row[0]: row[1] for row in self.cloud.sql(f"nova_{CELL}", statement)}

    def reserved(self) -> set[str]:
        """The nodes on which nothing is placed, by their providers."""
        statement = (
            "SELECT p.uuid FROM resource_providers p JOIN inventories i"
            " ON i.resource_provider_id = p.id JOIN resource_classes c"
            " ON c.id = i.resource_class_id WHERE c.name = :name AND i.reserved = i.total"
        )
        return {row[0] for row in self.cloud.sql("placement", statement, name=CLASS)}


@contextlib.contextmanager
def ironic_in(cloud: Cloud) -> Iterator[BareMetal]:
    """Ironic with its nodes, and two nova-computes. At the end none of them is there."""
    site = cloud.site
    _write_configuration(site)
    cloud.server.execute(MARIADB_CREATE.format(name="ironic"))
    file = site.configuration("ironic", "ironic.conf")
    sync = [program("openstack", "ironic-dbsync"), "--config-file", file, "create_schema"]
    run(sync, site.client_environment)
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(cloud.server.execute, "DROP DATABASE ironic")
        metal = BareMetal(cloud, _of_the_system(site))
        if not cloud.connection.identity.find_service("ironic"):
            catalog.register_service(site, cloud.connection, "ironic", "baremetal")
        _start_ironic(metal, at_the_end)
        metal.enrol(NODES)
        at_the_end.callback(_leave, metal)
        metal.start_computes(*HOSTS)
        wait_until(metal.is_shared, "both have nodes", 180)
        wait_until(metal.is_settled, "each free node can be had", 180)
        yield metal


def _leave(metal: BareMetal) -> None:
    """No service, no compute node and no provider of it stays."""
    cloud = metal.cloud
    for host in HOSTS:
        name = f"nova-compute-{host}"
        if cloud.processes.is_running(name):
            cloud.processes.kill(name)
        # Behind Nova's back, which answers 500 while two of them share nodes.
        cloud.sql(f"nova_{CELL}", "UPDATE services SET deleted = id WHERE host = :host", host=host)
        cloud.sql("nova_api", "DELETE FROM host_mappings WHERE host = :host", host=host)
    rows = "UPDATE compute_nodes SET deleted = id WHERE hypervisor_type = 'ironic'"
    cloud.sql(f"nova_{CELL}", rows)
    for node in metal.connection.baremetal.nodes():
        cloud.connection.placement.delete_resource_provider(node.id)
    for flavor in metal.flavors:
        cloud.connection.compute.delete_flavor(flavor)


def _start_ironic(metal: BareMetal, at_the_end: contextlib.ExitStack) -> None:
    site, processes = metal.cloud.site, metal.cloud.processes
    variable = {"IRONIC_CONFIG_FILE": str(site.configuration("ironic", "ironic.conf"))}
    command = uwsgi_command(site.ports["ironic"], "ironic.wsgi")
    processes.start("ironic-api", command, site.client_environment | variable)
    at_the_end.callback(processes.kill, "ironic-api")
    for name in CONDUCTORS:
        file = site.configuration("ironic", f"{name}.conf")
        command = [program("openstack", "ironic-conductor"), "--config-file", file]
        processes.start(f"ironic-{name}", command, site.client_environment)
        at_the_end.callback(processes.kill, f"ironic-{name}")
    wait_until(lambda: answers_http(site.ports["ironic"]), "Ironic answers")
    conductors = metal.connection.baremetal.conductors
    wait_until(lambda: len(list(conductors())) == len(CONDUCTORS), "the conductors work")


def _of_the_system(site: Site) -> Connection:
    return openstack.connect(
        auth_url=site.identity_url,
        username="admin",
        password=site.password,
        user_domain_name="Default",
        system_scope="all",
        region_name=REGION,
        load_yaml_config=False,
        load_envvars=False,
    )


def _write_configuration(site: Site) -> None:
    site.configuration("ironic").mkdir(parents=True, exist_ok=True)
    site.state("ironic").mkdir(parents=True, exist_ok=True)
    for name in ("ironic", *CONDUCTORS):
        site.configuration("ironic", f"{name}.conf").write_text(as_text(_ironic(site, name)))
    for host in HOSTS:
        site.configuration("nova", f"{host}.conf").write_text(as_text(_compute(site, host)))


def _ironic(site: Site, host: str) -> dict[str, Any]:
    return {
        "DEFAULT": {
            "host": host,
            "my_ip": "127.0.0.1",
            "state_path": site.state("ironic"),
            "transport_url": site.messages("ironic"),
            "rpc_transport": "oslo",
            "auth_strategy": "keystone",
            # Nova's account sees the nodes of the system.
            "rbac_service_role_elevated_access": True,
            "enabled_hardware_types": "fake-hardware",
            **{f"enabled_{kind}_interfaces": "fake" for kind in _INTERFACES},
            "enabled_network_interfaces": "noop",
            "default_network_interface": "noop",
            "enabled_storage_interfaces": "noop",
            "enabled_console_interfaces": "no-console",
        },
        "database": {"connection": site.database("ironic")},
        "conductor": {"automated_clean": True, "conductor_group": GROUP},
        "dhcp": {"dhcp_provider": "none"},
        "oslo_concurrency": {"lock_path": site.state("ironic")},
    } | authentication(site, "ironic")


def _compute(site: Site, host: str) -> dict[str, Any]:
    sections = nova_sections(site, host, f"nova_{CELL}")
    own = {"compute_driver": "ironic.IronicDriver", "update_resources_interval": 5}
    shared = {"conductor_group": GROUP, "peer_list": ",".join(HOSTS)}
    return sections | {
        "DEFAULT": sections["DEFAULT"] | own,
        "ironic": account(site, "ironic") | shared,
    }
