# SPDX-License-Identifier: Apache-2.0
"""Tempest, with our plugin, from an environment of its own, on the real cloud."""

import csv
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from openstack.connection import Connection
from openstack.network.v2.network import Network
from openstack.network.v2.subnet import Subnet

from tests.real.cloud.catalog import IMAGE, PHYSICAL_NETWORK, SMALL, TINY
from tests.real.cloud.configuration import Sections, as_text
from tests.real.cloud.damage import bandwidth_on
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import run
from tests.real.cloud.site import REGION, Site, program
from tests.tree import REPOSITORY

ENVIRONMENT = REPOSITORY / ".venv" / "tempest" / "bin"
# Tests of Nova and Neutron that no guest has to answer.
TESTS = (
    r"^tempest\.(api|serial_tests\.api)\.(compute|network)\."
    r"|^tempest\.scenario\.test_network_qos_placement\."
    r"|^trueup_tempest_plugin\."
)
# The fake driver does not know how long its host is up.
NOT_HERE = r"HypervisorAdminTestJSON\.test_get_hypervisor_uptime"
# As many workers as cores; each audits after its classes.
WORKERS = 2
HOSTS, OTHER_CELL = ("compute1", "compute2"), "compute3"
SHARED_NETWORK, PUBLIC_NETWORK = "shared", "public"


@dataclass(frozen=True)
class Workspace:
    """The folder of one run, with its tempest.conf."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, tests: str = TESTS) -> dict[str, str]:
        """What became of each test and of each class: success, failure or skip."""
        words = ("--regex", tests, "--exclude-regex", NOT_HERE, "--concurrency", str(WORKERS))
        # It ends with 1 if a test fails, and says which.
        self._program("tempest", "run", *words, expected=(0, 1))
        return dict(self._results())

    def failures(self) -> str:
        """The traceback of each failed test of the last run."""
        return self._program("stestr", "last", expected=(0, 1)).stdout

    def _results(self) -> Iterator[tuple[str, str]]:
        stream = self._program("stestr", "last", "--subunit", expected=(0, 1), text=False).stdout
        as_csv = [str(ENVIRONMENT / "subunit2csv"), "--no-passthrough"]
        table = subprocess.run(as_csv, input=stream, capture_output=True, check=False).stdout
        for row in csv.DictReader(table.decode().splitlines()):
            yield re.sub(r"\[.*\]", "", row["test"]), row["status"]

    def _program(self, name: str, *words: str, expected: tuple[int, ...] = (0,), text: bool = True):
        done = subprocess.run(
            [str(ENVIRONMENT / name), *words],
            cwd=self.folder, env=self.environment, capture_output=True, text=text, check=False,
        )  # fmt: skip
        assert done.returncode in expected, (done.stdout, done.stderr)
        return done


def workspace_for(cloud: Cloud, folder: Path) -> Workspace:
    """A new one, for a cloud that `prepare` was called for."""
    environment = {
        name: value
        for name, value in cloud.site.client_environment.items()
        if not name.startswith("OS_")
    }
    run([ENVIRONMENT / "tempest", "init", folder], environment)
    (folder / "etc" / "tempest.conf").write_text(as_text(_configuration(cloud)))
    return Workspace(folder, environment)


def prepare(cloud: Cloud) -> None:
    """What Tempest expects to find: networks, a second image, bandwidth, and one cell."""
    connection = cloud.connection
    network = connection.network
    shared = network.create_network(name=SHARED_NETWORK, is_shared=True)
    inside = _subnet(connection, shared, "10.79.0.0/16")
    public = network.create_network(name=PUBLIC_NETWORK, is_router_external=True)
    _subnet(connection, public, "10.80.0.0/16")
    # Floating addresses lead to servers of the shared network.
    router = network.create_router(external_gateway_info={"network_id": public.id})
    network.add_interface_to_router(router, subnet_id=inside.id)
    connection.image.create_image(
        name="alternative",
        data=b"not read by anybody",
        disk_format="raw",
        container_format="bare",
        visibility="public",
        validate_checksum=False,
    )
    # Tempest takes any two hosts for ones between which a server can move.
    [service] = connection.compute.services(host=OTHER_CELL, binary="nova-compute")
    connection.compute.disable_service(service)
    for host in HOSTS:
        bandwidth_on(cloud, host)


def _subnet(connection: Connection, network: Network, cidr: str) -> Subnet:
    return connection.network.create_subnet(
        network_id=network.id, ip_version=4, cidr=cidr, is_dhcp_enabled=False
    )


def _configuration(cloud: Cloud) -> Sections:
    site, connection = cloud.site, cloud.connection
    flavors = {one.name: one.id for one in connection.compute.flavors()}
    images = {one.name: one.id for one in connection.image.images()}
    networks = {one.name: one.id for one in connection.network.networks()}
    extensions = sorted(one.alias for one in connection.network.extensions())
    return {
        "DEFAULT": {"log_file": "tempest.log"},
        "auth": {
            "admin_username": "admin",
            "admin_password": site.password,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
            "create_isolated_networks": False,
        },
        "identity": {"uri_v3": site.identity_url, "region": REGION, "auth_version": "v3"},
        "compute": {
            "image_ref": images[IMAGE],
            "image_ref_alt": images["alternative"],
            "flavor_ref": flavors[TINY.name],
            "flavor_ref_alt": flavors[SMALL.name],
            "fixed_network_name": SHARED_NETWORK,
            "min_compute_nodes": 2,
            "max_microversion": "latest",
        },
        "compute-feature-enabled": {
            "resize": True,
            "live_migration": True,
            "block_migration_for_live_migration": True,
            # The fake driver writes no image, has no console, and no volume service is there.
            "snapshot": False,
            "console_output": False,
        },
        "network": {
            "public_network_id": networks[PUBLIC_NETWORK],
            "floating_network_name": PUBLIC_NETWORK,
        },
        "placement": {"max_microversion": "latest"},
        "network-feature-enabled": {
            "api_extensions": ",".join(extensions),
            "qos_placement_physnet": PHYSICAL_NETWORK,
            "provider_net_base_segmentation_id": 150,
            "qos_min_bw_and_pps": True,
        },
        "service_available": {"cinder": False, "swift": False, "horizon": False},
        "validation": {"run_validation": False},
        "oslo_concurrency": {"lock_path": "tempest_lock"},
        "trueup": _plugin(site),
    }


def _plugin(site: Site) -> Mapping[str, object]:
    return {"command": program("trueup", "trueup"), "nova_conf": site.nova_conf}
