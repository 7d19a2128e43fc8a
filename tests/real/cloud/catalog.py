# SPDX-License-Identifier: Apache-2.0
"""What a new cloud is given over its APIs: accounts, endpoints, flavors, an image, a network."""

from dataclasses import dataclass

from openstack.connection import Connection

from tests.real.cloud.site import REGION, Site

INTERFACES = ("public", "internal", "admin")
IMAGE = "nothing"
BANDWIDTH_NETWORK = "physical"
PHYSICAL_NETWORK = "physnet0"


@dataclass(frozen=True)
class FlavorSize:
    """A flavor. `resources` is what Nova claims for it in Placement."""

    name: str
    ram: int
    vcpus: int
    disk: int
    ephemeral: int = 0
    swap: int = 0

    @property
    def resources(self) -> dict[str, int]:
        # Nova rounds the swap, which is in MiB, up to whole GiB.
        disk = self.disk + self.ephemeral + -(-self.swap // 1024)
        return {"VCPU": self.vcpus, "MEMORY_MB": self.ram, "DISK_GB": disk}


TINY = FlavorSize("tiny", ram=64, vcpus=1, disk=1)
SMALL = FlavorSize("small", ram=256, vcpus=2, disk=4, ephemeral=1, swap=512)


def register_services(site: Site, connection: Connection) -> None:
    """An account with its roles, and endpoints, for each service but keystone."""
    connection.identity.create_project(name="service", domain_id="default")
    for name, kind, path in (
        ("placement", "placement", ""),
        ("nova", "compute", "/v2.1"),
        ("glance", "image", ""),
        ("neutron", "network", ""),
    ):
        register_service(site, connection, name, kind, path)


def register_service(
    site: Site, connection: Connection, name: str, kind: str, path: str = ""
) -> None:
    """An account with its roles, and the endpoints."""
    identity = connection.identity
    project = identity.find_project("service", ignore_missing=False)
    user = identity.create_user(
        name=name,
        password=site.password,
        domain_id="default",
        default_project_id=project.id,
    )
    known = {role.name: role for role in identity.roles()}
    for role in ("admin", "service"):
        found = known.get(role) or identity.create_role(name=role)
        identity.assign_project_role_to_user(project, user, found)
    service = identity.create_service(name=name, type=kind)
    for interface in INTERFACES:
        identity.create_endpoint(
            service_id=service.id,
            interface=interface,
            url=site.url(name, path),
            region_id=REGION,
        )


def create_what_instances_need(connection: Connection) -> None:
    """Flavors, an image that nobody reads, and a network whose ports may claim bandwidth."""
    for flavor in (TINY, SMALL):
        connection.compute.create_flavor(
            name=flavor.name,
            ram=flavor.ram,
            vcpus=flavor.vcpus,
            disk=flavor.disk,
            ephemeral=flavor.ephemeral,
            swap=flavor.swap,
        )
    connection.image.create_image(
        name=IMAGE,
        data=b"not read by anybody",
        disk_format="raw",
        container_format="bare",
        visibility="public",
        validate_checksum=False,
    )
    network = connection.network.create_network(
        name=BANDWIDTH_NETWORK,
        provider_network_type="vlan",
        provider_physical_network=PHYSICAL_NETWORK,
        provider_segmentation_id=100,
    )
    connection.network.create_subnet(
        network_id=network.id, ip_version=4, cidr="10.78.0.0/16", is_dhcp_enabled=False
    )
