# SPDX-License-Identifier: Apache-2.0
"""The real `openstack` client with osc-placement, on either Placement."""

import pytest

from tests.real.cloud.catalog import SMALL
from tests.real.cloud.site import CELL_OF_COMPUTE
from tests.real.cloud.trueup import openstack_command


@pytest.fixture
def openstack(cloud):
    return lambda command: openstack_command(cloud.site, *command.split())


def test_what_an_operator_reads(placement, openstack, tenant, ledger):
    server = tenant.boot(SMALL, "compute1")
    providers = {row["name"]: row["uuid"] for row in openstack("resource provider list")}
    assert set(CELL_OF_COMPUTE) <= set(providers)
    uuid = providers["compute1"]
    inventories = openstack(f"resource provider inventory list {uuid}")
    assert {row["resource_class"]: row["used"] for row in inventories} == SMALL.resources
    usages = openstack(f"resource provider usage show {uuid}")
    assert {row["resource_class"]: row["usage"] for row in usages} == SMALL.resources
    [held] = openstack(f"resource provider allocation show {server.id}")
    assert (held["resource_provider"], held["resources"]) == (uuid, SMALL.resources)
    assert "COMPUTE_NODE" in {
        row["name"] for row in openstack(f"resource provider trait list {uuid}")
    }


def test_allocation_candidates(placement, openstack):
    wanted = "--resource VCPU=1 --resource MEMORY_MB=64 --required COMPUTE_NODE"
    found = openstack(f"allocation candidate list {wanted} --limit 2")
    assert len({row["resource provider"] for row in found}) == 2
    assert {row["allocation"] for row in found} == {"VCPU=1,MEMORY_MB=64"}


def test_what_an_operator_writes(placement, openstack, cloud):
    made = openstack("resource provider create shared-pool")
    uuid = made["uuid"]
    openstack(f"resource provider inventory set {uuid} --resource DISK_GB=100")
    openstack(f"resource provider trait set {uuid} --trait MISC_SHARES_VIA_AGGREGATE")
    [row] = openstack(f"resource provider inventory list {uuid}")
    assert (row["resource_class"], row["total"]) == ("DISK_GB", 100)
    cloud.connection.placement.delete_resource_provider(uuid)
    assert uuid not in {row["uuid"] for row in openstack("resource provider list")}
