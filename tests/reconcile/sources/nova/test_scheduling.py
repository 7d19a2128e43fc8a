# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler knows, as it stands in Nova's tables.

tests/differential compares requests and hosts with what Nova's own classes make of them.
"""

from types import SimpleNamespace

import pytest

from trueup.reconcile.facts import ComputeService
from trueup.reconcile.sources.nova.scheduling import (
    host_of,
    image_properties,
    request_of,
    with_hardware,
)
from trueup.reconcile.sources.nova.tables import scheduler_nodes

FLAVOR = {
    "nova_object.data": {
        "name": "small", "vcpus": 1, "memory_mb": 64, "root_gb": 1, "ephemeral_gb": 0, "swap": 0,
    }
}  # fmt: skip


def test_image_properties_are_texts_as_glance_has_them():
    properties = {
        "hw_virtio_packed_ring": True,
        "hw_numa_nodes": 2,
        "hw_vif_model": None,
        "traits_required": ["CUSTOM_A"],
        "hw_numa_cpus": [[0, 2], [1]],
        "hw_numa_mem": [64, 32],
    }
    assert image_properties(properties) == {
        "hw_virtio_packed_ring": "true",
        "hw_numa_nodes": "2",
        "hw_numa_cpus.0": "0,2",
        "hw_numa_cpus.1": "1",
        "hw_numa_mem.0": "64",
        "hw_numa_mem.1": "32",
        "trait:CUSTOM_A": "required",
    }


def test_a_request_with_nothing_but_a_flavor():
    # Old releases have stored hosts to leave out, and no release reads them again.
    spec = {"flavor": FLAVOR, "scheduler_hints": {"group": "g"}, "ignore_hosts": ["h1"]}
    request = request_of("server", spec)
    assert (request.image, request.hints) == ({}, {"group": ("g",)})
    asked = (request.numa, request.devices, request.ignored, request.forced_hosts)
    assert not any(asked)


@pytest.mark.parametrize(
    ("spec", "volume_backed"),
    [
        ({"is_bfv": False}, False),
        ({"is_bfv": True, "image": {"nova_object.data": {"id": "i"}}}, True),
        ({"image": {"nova_object.data": {"id": "i"}}}, False),
        ({"image": {"nova_object.data": {"properties": None}}}, True),
    ],
)
def test_an_old_request_is_volume_backed_if_its_image_has_no_id(spec, volume_backed):
    assert request_of("server", {"flavor": FLAVOR} | spec).volume_backed == volume_backed


def test_a_request_without_a_flavor_is_none():
    with pytest.raises(LookupError):
        request_of("server", {})


def test_columns_that_are_broken_or_empty_say_nothing():
    row = SimpleNamespace(**dict.fromkeys(scheduler_nodes.c.keys()))
    row.uuid, row.stats, row.supported_instances, row.disk_available_least = "A", "{", "", 3
    row.free_disk_gb = 0
    host = host_of(row, "cell", ComputeService("cell", "h", False, None), (), ())
    assert (host.uuid, host.stats, host.supported, host.made_at) == ("a", {}, (), None)
    assert host.attributes["free_disk_mb"] == 0, "not more than the database expects"
    # Of a row that nova-compute has not completed yet, Nova looks at nothing.
    row.free_disk_gb, row.stats, row.memory_mb = None, '{"num_instances": 3}', 64
    new = host_of(row, "cell", ComputeService("cell", "h", False, None), (), ())
    assert (new.stats, new.attributes["total_usable_ram_mb"], new.attributes["uuid"]) == (
        {},
        0,
        None,
    )
    for text, pools in ((None, ()), ("{", None), ("[]", None)):
        hardware = SimpleNamespace(numa_topology=None, pci_stats=text)
        assert with_hardware(host, hardware).pools == pools
