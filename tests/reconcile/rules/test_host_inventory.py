# SPDX-License-Identifier: Apache-2.0
"""Inventories as nova-compute's libvirt driver reports them."""

import pytest

from trueup.reconcile.facts import Hardware, HostDefaults, Inventory
from trueup.reconcile.rules.host_inventory import inventories_of

HOST = Hardware(8, 16384, 100, 2.0, 1.5, 1.0)


def test_a_host_has_what_its_row_says():
    found = inventories_of(HOST, HostDefaults(1, 1024, 2049))
    assert found == {
        "VCPU": Inventory(8, 1, 2.0, max_unit=8),
        "MEMORY_MB": Inventory(16384, 1024, 1.5, max_unit=16384),
        "DISK_GB": Inventory(100, 3, 1.0, max_unit=100),
    }, "2049 MiB are rounded up to 3 GiB"


@pytest.mark.parametrize("never_set", [None, 0.0])
def test_a_ratio_that_was_never_set_is_the_initial_one(never_set):
    host = Hardware(8, 16384, 100, never_set, never_set, never_set)
    ratios = {
        name: one.allocation_ratio for name, one in inventories_of(host, HostDefaults()).items()
    }
    assert ratios == {"VCPU": 4.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}


def test_a_host_without_disk_has_no_inventory_of_it():
    assert "DISK_GB" not in inventories_of(Hardware(8, 1, 0, 1.0, 1.0, 1.0), HostDefaults())


def test_what_is_assumed_is_said():
    assert "reserved_host_memory_mb=512" in HostDefaults().words
    assert "4 for VCPU" in HostDefaults().words
