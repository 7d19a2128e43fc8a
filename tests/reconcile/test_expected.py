# SPDX-License-Identifier: Apache-2.0
"""What an instance should hold of its host, as Nova counts it."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.expected import Unknown, host_amounts
from trueup.reconcile.facts import Flavor, Instance

[PLAIN] = facts_of("cell1\n  host h1\n  server web on h1\n").instances


def server(*, volume_backed: bool = False, **amounts: int) -> Instance:
    plain = {"vcpus": 2, "memory_mb": 256, "root_gb": 0, "ephemeral_gb": 0, "swap_mb": 0}
    flavor = Flavor(name="a-flavor", extra_specs={}, **(plain | amounts))
    return replace(PLAIN, flavor=flavor, volume_backed=volume_backed)


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
    instance = server(
        root_gb=root_gb, ephemeral_gb=ephemeral_gb, swap_mb=swap_mb, volume_backed=volume_backed
    )
    expected = {"VCPU": 2, "MEMORY_MB": 256}
    if disk_gb is not None:
        expected["DISK_GB"] = disk_gb
    assert host_amounts(instance) == expected


def test_what_is_zero_is_not_asked_for():
    assert host_amounts(server(vcpus=0, root_gb=1)) == {"MEMORY_MB": 256, "DISK_GB": 1}


def test_without_a_flavor_nothing_is_known():
    assert host_amounts(replace(PLAIN, flavor=None)) == Unknown("its flavor cannot be read")


def test_peculiarities_are_named_and_make_it_unknown():
    instance = replace(server(), peculiarities=("flavor hw:cpu_policy=dedicated", "PCI devices"))
    unknown = host_amounts(instance)
    assert isinstance(unknown, Unknown)
    assert unknown.reason.endswith("plain amounts: flavor hw:cpu_policy=dedicated, PCI devices")
