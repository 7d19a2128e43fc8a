# SPDX-License-Identifier: Apache-2.0
"""Servers that find no host, and limits of projects: we say what a cloud's own services say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.real.cloud.catalog import TINY, FlavorSize
from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE, REGION, Site

_RESULT = re.compile(r"'(\w+): \(start: \d+, end: (\d+)\)'")
# More than any host has, whatever its allocation ratio: no consumer may hold more than there are.
_MANY_CPUS = FlavorSize("many-cpus", ram=64, vcpus=9000, disk=1)
_OTHER_TRAIT = FlavorSize("other-trait", ram=64, vcpus=1, disk=1)
_ODD_HYPERVISOR = FlavorSize("odd-hypervisor", ram=64, vcpus=1, disk=1)
_SPECS = {
    _MANY_CPUS: {},
    _OTHER_TRAIT: {"trait:HW_CPU_X86_AVX512F": "required"},
    _ODD_HYPERVISOR: {"capabilities:hypervisor_type": "s== odd"},
}
LIMITS_CONF = """
[quota]
driver = nova.quota.UnifiedLimitsDriver
[oslo_limit]
auth_type = password
auth_url = {url}
username = admin
user_domain_name = Default
password = {password}
system_scope = all
endpoint_service_type = compute
endpoint_interface = public
endpoint_region_name = {region}
"""


def logged(site: Site, server: str) -> list[tuple[str, int]]:
    """The filters that nova-scheduler asked about a server, and the hosts that each left."""
    lines = (line for file in sorted(site.logs.glob("nova-scheduler*")) for line in read(file))
    found = [line for line in lines if server in line and "Filter results" in line]
    return [(name, int(left)) for name, left in _RESULT.findall(found[-1])] if found else []


def read(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines()


def explained(rows: list[dict]) -> list[tuple[str, int]]:
    """The same of our table; empty if Placement leaves no host, so that no filter is asked."""
    counts = [(row["Filter"], row["Hosts left"]) for row in rows]
    [*placements] = [left for name, left in counts if not name.endswith("Filter")]
    novas = [(name, left) for name, left in counts if name.endswith("Filter")]
    last = next((at for at, (_, left) in enumerate(novas) if not left), len(novas))
    return novas[: last + 1] if placements[-1] else []


def enabled(cloud: Cloud, host: str, wanted: bool) -> None:
    """Enable or disable the compute service of a host, and wait until Placement knows."""
    compute, placement = cloud.connection.compute, cloud.connection.placement
    [service] = compute.services(host=host, binary="nova-compute")
    if wanted:
        compute.enable_service(service)
    else:
        compute.disable_service(service)
    [provider] = placement.resource_providers(name=host)
    path = f"/resource_providers/{provider.id}/traits"

    def known() -> bool:
        traits = placement.get(path).json()["traits"]
        return ("COMPUTE_STATUS_DISABLED" in traits) != wanted

    wait_until(known, f"Placement knows of {host}")


@pytest.fixture
def flavors(cloud):
    """Flavors with which no server finds a host."""
    compute = cloud.connection.compute
    made = [
        compute.create_flavor(name=size.name, ram=size.ram, vcpus=size.vcpus, disk=size.disk)
        for size in _SPECS
    ]
    for flavor, specs in zip(made, _SPECS.values(), strict=True):
        if specs:
            compute.create_flavor_extra_specs(flavor, specs)
    yield
    for flavor in made:
        compute.delete_flavor(flavor)


@pytest.mark.usefixtures("flavors")
def test_every_boot_that_fails_is_explained_as_the_scheduler_logged_it(
    placement, cloud, tenant, trueup
):
    group = cloud.connection.compute.create_server_group(name="apart", policy="anti-affinity")
    for _ in CELL_OF_COMPUTE:
        tenant.wait_for(tenant.ask_for(TINY, group=group.id), "ACTIVE")
    failing = [
        (None, tenant.ask_for(_MANY_CPUS)),
        (None, tenant.ask_for(_OTHER_TRAIT)),
        ("ComputeCapabilitiesFilter", tenant.ask_for(_ODD_HYPERVISOR)),
        ("ServerGroupAntiAffinityFilter", tenant.ask_for(TINY, group=group.id)),
    ]
    for last, server in failing:
        tenant.wait_for(server, "ERROR")
        said = logged(cloud.site, server.id)
        assert [name for name, left in said if not left] == ([last] if last else [])
        assert explained(trueup.why(server.id).rows) == said
    for host in CELL_OF_COMPUTE:
        enabled(cloud, host, False)
    try:
        server = tenant.wait_for(tenant.ask_for(TINY), "ERROR")
        assert explained(trueup.why(server.id).rows) == logged(cloud.site, server.id)
    finally:
        for host in CELL_OF_COMPUTE:
            enabled(cloud, host, True)


def test_the_limits_of_keystone_are_those_of_its_api(placement, cloud, tenant, trueup):
    identity, site = cloud.connection.identity, cloud.site
    [nova] = identity.services(type="compute")
    project = cloud.connection.current_project_id
    kept = identity.create_registered_limit(
        service_id=nova.id, region_id=REGION, resource_name="class:VCPU", default_limit=7
    )
    own = identity.create_limit(
        service_id=nova.id, region_id=REGION, resource_name="class:VCPU", resource_limit=3,
        project_id=project,
    )  # fmt: skip
    conf = site.configuration("nova", "limits.conf")
    settings = LIMITS_CONF.format(url=site.identity_url, password=site.password, region=REGION)
    [before, *rest] = site.nova_conf.read_text().split("[quota]")
    after = "".join(rest).partition("\n[")
    conf.write_text(before + after[1] + after[2] + settings)
    try:
        tenant.boot(TINY)
        document = replace(trueup, nova_conf=conf).quota().rows
        [row] = [row for row in document["limits"] if row["resource"] == "class:VCPU"]
        assert (row["project"], row["limit"]) == (project, 3)
        assert (row["nova"], row["placement"]) == (1, 1)
        assert document["enforcement_model"] == "flat"
        assert document["unregistered"] == ["class:DISK_GB", "class:MEMORY_MB", "servers"]
    finally:
        identity.delete_limit(own)
        identity.delete_registered_limit(kept)
