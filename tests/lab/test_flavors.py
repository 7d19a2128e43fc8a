# SPDX-License-Identifier: Apache-2.0
from trueup.lab.flavors import FLAVORS, Flavor, next_larger


def test_disk_is_root_and_ephemeral_and_swap_in_whole_gibibytes():
    flavor = Flavor(9, "seen", vcpus=2, memory_mb=256, root_gb=4, ephemeral_gb=1, swap_mb=512)
    assert flavor.resources(volume_backed=False) == {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}
    assert flavor.resources(volume_backed=True) == {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 2}


def test_a_class_with_amount_zero_is_left_out():
    flavor = Flavor(9, "diskless", vcpus=1, memory_mb=64, root_gb=5)
    assert flavor.resources(volume_backed=True) == {"VCPU": 1, "MEMORY_MB": 64}


def test_every_resize_leads_to_another_flavor():
    assert all(next_larger(flavor) is not flavor for flavor in FLAVORS)


def test_some_flavors_have_an_ephemeral_disk_and_some_have_swap():
    assert any(flavor.ephemeral_gb for flavor in FLAVORS)
    assert any(flavor.swap_mb % 1024 for flavor in FLAVORS)
