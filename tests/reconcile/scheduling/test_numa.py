# SPDX-License-Identifier: Apache-2.0
"""What servers need of NUMA cells; that as many fit as with Nova is compared in differential/."""

import pytest

from tests.reconcile.expected.asking import flavor
from tests.reconcile.scheduling.server_cells import server_cells
from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import HostCell, MemoryPages, NumaTopology
from trueup.reconcile.scheduling.numa import HostCells, topology_of


@pytest.mark.parametrize(
    ("specs", "cells"),
    [
        ({"hw:cpu_policy": "dedicated"}, ["shared 0, dedicated 2, 256 MiB, None"]),
        ({"hw:numa_nodes": "2"}, ["shared 1, dedicated 0, 128 MiB, None"] * 2),
        ({"hw:mem_page_size": "2MB"}, ["shared 2, dedicated 0, 256 MiB, 2048"]),
        ({"hw:mem_page_size": "1048576"}, ["shared 2, dedicated 0, 256 MiB, 1048576"]),
        ({"hw:mem_page_size": "large"}, ["shared 2, dedicated 0, 256 MiB, large"]),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0", "hw:numa_nodes": "2"},
            ["shared 0, dedicated 1, 128 MiB, None", "shared 1, dedicated 0, 128 MiB, None"],
        ),
    ],
)
def test_what_a_flavor_asks_for(specs, cells):
    assert in_words(topology_of(flavor(specs), {})) == cells


def in_words(topology) -> list[str]:
    assert isinstance(topology, NumaTopology)
    return [
        f"shared {len(cell.processors)}, dedicated {len(cell.pinned)}, {cell.memory_mb} MiB, "
        f"{cell.page_size}"
        for cell in topology.cells or ()
    ]


def test_an_image_may_ask_for_it_too():
    found = topology_of(flavor(), {"hw_numa_nodes": "1", "hw_mem_page_size": "any"})
    assert in_words(found) == ["shared 2, dedicated 0, 256 MiB, any"]


def test_a_plain_flavor_may_be_anywhere():
    assert topology_of(flavor(), {}) is None
    assert topology_of(flavor({"hw:cpu_policy": "shared"}), {}) is None


@pytest.mark.parametrize(
    "specs",
    [
        {"hw:numa_nodes": "3"},
        {"hw:numa_nodes": "two"},
        {"hw:numa_nodes": "2", "hw:numa_mem.0": "1", "hw:numa_mem.1": "2"},
        {"hw:mem_page_size": "huge"},
        {"hw:cpu_policy": "odd"},
    ],
)
def test_what_nova_refuses_is_not_counted(specs):
    assert isinstance(topology_of(flavor(specs), {}), Unknown)


def test_each_cell_of_a_server_needs_a_cell_for_itself():
    cells = [HostCell(n, frozenset({n}), frozenset(), 1000) for n in range(2)]
    host = HostCells(cells, 1.0, 1.0)
    assert not host.place(server_cells(2, 0, 10))
    assert host.place(server_cells(1, 0, 10, count=2))
    assert host.count(server_cells(1, 0, 10), most=9) == 0


def test_pages_are_used_up():
    pages = (MemoryPages(4, 10000), MemoryPages(2048, 5, used=1, reserved=1))
    host = HostCells([HostCell(0, frozenset(range(9)), frozenset(), 1000, pages=pages)], 9.0, 9.0)
    assert host.count(server_cells(1, 0, 2, "large"), most=9) == 3
