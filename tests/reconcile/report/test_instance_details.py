# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.facts import (
    AssignedResource,
    BlockDevice,
    NumaCell,
    NumaTopology,
    PciDevice,
    PciRequest,
)
from trueup.reconcile.report.instance_details import given

FACTS = replace(facts_of(BROKEN), request_specs=frozenset({uuid_of("web")}))
WEB = FACTS.alive[uuid_of("web")]
[CELL] = FACTS.cells


def told(facts=FACTS, **fields: object) -> list[str]:
    return list(given(replace(WEB, **fields), facts))


def test_of_what_was_not_read_nothing_is_told():
    assert told() == []


@pytest.mark.parametrize(("number", "word"), [(1, "running"), (4, "shut down"), (9, "in state 9")])
def test_what_nova_saw_of_its_guest(number, word):
    assert told(power_state=number) == [f"Nova saw its guest {word} when it looked last."]


def test_its_disks_and_nobody_else_s():
    disks = (
        BlockDevice(WEB.uuid, CELL, 0, "image", "volume", volume="vol-1", size_gb=20),
        BlockDevice(WEB.uuid, CELL, -1, "blank", "local", guest_format="ext4"),
        BlockDevice(uuid_of("db"), CELL, 0, "image", "local"),
    )
    assert told(replace(FACTS, block_devices=disks)) == [
        "Its root disk is a volume vol-1 of 20 GB, made from: image.",
        "A disk of it is a local disk, made from: blank, formatted as ext4.",
    ]


def test_its_numa_nodes():
    cells = (
        NumaCell(0, (0, 1), (), 512),
        NumaCell(1, (), (2, 3), 256, cpu_policy="dedicated", thread_policy="isolate"),
    )
    assert told(numa_topology=NumaTopology(None)) == ["Its NUMA topology could not be read."]
    assert told(numa_topology=NumaTopology(cells, emulator_threads_policy="share")) == [
        "Its NUMA node 0 has shared vCPUs 0, 1; 512 MB of memory.",
        "Its NUMA node 1 has dedicated vCPUs 2, 3; 256 MB of memory; CPU policy dedicated; "
        "thread policy isolate.",
        "Its emulator threads have the policy share.",
    ]


def test_its_devices_and_what_it_asks_for():
    device = PciDevice(
        CELL, 1, "0000:81:00.1", "8086", "154c", "type-VF", "allocated", WEB.uuid, numa_node=1
    )
    other = replace(device, instance=uuid_of("db"))
    requests = (
        PciRequest("r1", 2, alias="gpu", numa_policy="required"),
        PciRequest("r2", 1, requester=uuid_of("port")),
    )
    assert told(replace(FACTS, pci_devices=(device, other)), pci_requests=requests) == [
        "It asks for 2 PCI devices of alias gpu, with the NUMA policy required.",
        f"It asks for 1 PCI device for port {uuid_of('port')}.",
        "PCI device 0000:81:00.1 (type-VF, vendor 8086, product 154c, NUMA node 1) is allocated "
        "to it.",
    ]


def test_its_persistent_memory():
    namespace = AssignedResource(uuid_of("h1"), "CUSTOM_PMEM_NAMESPACE_4GB", "ns_0")
    assert told(assigned_resources=(namespace,)) == [
        "It was given CUSTOM_PMEM_NAMESPACE_4GB ns_0 of h1."
    ]


def test_a_request_spec_that_is_gone_is_told():
    [words] = told(replace(FACTS, request_specs=frozenset()))
    assert "no request spec" in words
