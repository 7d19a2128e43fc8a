# SPDX-License-Identifier: Apache-2.0
"""What a flavor and an image ask for. tests/differential/test_expected.py asks Nova the same."""

import pytest

from tests.reconcile.expected.asking import flavor
from trueup.reconcile.expected import UNSUFFIXED, Group, Unknown, flavor_groups


def asked(specs=None, image=None, volume_backed=False, pinning=True, **amounts: int):
    """The amounts of each group by its suffix."""
    found = flavor_groups(
        flavor(specs, **amounts), image or {}, volume_backed=volume_backed, pinning=pinning
    )
    return found if isinstance(found, Unknown) else {one.suffix: one.amounts for one in found}


@pytest.mark.parametrize(
    ("root_gb", "ephemeral_gb", "swap_mb", "volume_backed", "disk_gb"),
    [
        (4, 0, 0, False, 4),
        (4, 1, 512, False, 6),  # seen on a real control plane
        (4, 1, 512, True, 2),  # the same, its root disk a volume
        (4, 0, 1024, False, 5),
        (4, 0, 1025, False, 6),
        (4, 0, 1, False, 5),
        (0, 3, 0, False, 3),
        (20, 0, 0, True, None),
        (0, 0, 0, False, None),
    ],
)
def test_disk_is_root_ephemeral_and_swap_in_whole_gib(
    root_gb, ephemeral_gb, swap_mb, volume_backed, disk_gb
):
    expected = {"VCPU": 2, "MEMORY_MB": 256}
    if disk_gb is not None:
        expected["DISK_GB"] = disk_gb
    sizes = {"root_gb": root_gb, "ephemeral_gb": ephemeral_gb, "swap_mb": swap_mb}
    assert asked(volume_backed=volume_backed, **sizes) == {UNSUFFIXED: expected}


def test_amounts_of_zero_are_not_requested():
    assert asked(vcpus=0, root_gb=1) == {UNSUFFIXED: {"MEMORY_MB": 256, "DISK_GB": 1}}


@pytest.mark.parametrize(
    ("specs", "wanted"),
    [
        # An override takes the place of the flavor's own amount; zero means none of it.
        ({"resources:VCPU": "5"}, {UNSUFFIXED: {"VCPU": 5, "MEMORY_MB": 256}}),
        ({"resources:MEMORY_MB": "0"}, {UNSUFFIXED: {"VCPU": 2}}),
        ({"resources:PCPU": "2"}, {UNSUFFIXED: {"PCPU": 2, "MEMORY_MB": 256}}),
        # Also from a group with a suffix.
        ({"resources1:VCPU": "1"}, {UNSUFFIXED: {"MEMORY_MB": 256}, "1": {"VCPU": 1}}),
        # A bare metal flavor holds a node of a class, and nothing else.
        (
            {
                "resources:VCPU": "0",
                "resources:MEMORY_MB": "0",
                "resources:DISK_GB": "0",
                "resources:CUSTOM_BAREMETAL_GOLD": "1",
            },
            {UNSUFFIXED: {"CUSTOM_BAREMETAL_GOLD": 1}},
        ),
        (
            {"resources1:CUSTOM_A": "1", "resources_NIC-2:CUSTOM_A": "2"},
            {
                UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256},
                "1": {"CUSTOM_A": 1},
                "_NIC-2": {"CUSTOM_A": 2},
            },
        ),
        # What Nova does not understand it ignores.
        ({"resources:VCPU": "many"}, {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}),
        ({"resources:VCPU": "-1"}, {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}),
        ({"resources:APPLES": "1"}, {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}),
        ({"resources(:VCPU": "1"}, {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}),
        ({"hw:mem_encryption": "true"},
         {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256, "MEM_ENCRYPTION_CONTEXT": 1}}),
        ({"hw:mem_encryption": "false"}, {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}),
        (
            {"hw:pmem": "6GB, 6GB,small,"},
            {
                UNSUFFIXED: {
                    "VCPU": 2,
                    "MEMORY_MB": 256,
                    "CUSTOM_PMEM_NAMESPACE_6GB": 2,
                    "CUSTOM_PMEM_NAMESPACE_SMALL": 1,
                }
            },
        ),
    ],
)  # fmt: skip
def test_extra_specs_change_the_request(specs, wanted):
    assert asked(specs) == wanted


def test_an_image_can_request_encrypted_memory():
    assert asked(image={"hw_mem_encryption": "True"})[UNSUFFIXED]["MEM_ENCRYPTION_CONTEXT"] == 1


def test_dedicated_cpus_replace_shared_ones():
    assert asked({"hw:cpu_policy": "dedicated"}) == {UNSUFFIXED: {"PCPU": 2, "MEMORY_MB": 256}}


def test_from_a_host_without_dedicated_cpus_shared_ones_are_requested():
    pinned = {"hw:cpu_policy": "dedicated"}
    assert asked(pinned, pinning=False) == {UNSUFFIXED: {"VCPU": 2, "MEMORY_MB": 256}}


def test_requests_that_nova_refuses_are_unknown():
    assert isinstance(asked({"hw:cpu_policy": "mixed"}, {"hw_cpu_policy": "dedicated"}), Unknown)


def test_groups_are_values():
    assert flavor_groups(flavor(), {}, volume_backed=False) == (
        Group(UNSUFFIXED, {"VCPU": 2, "MEMORY_MB": 256}),
    )
