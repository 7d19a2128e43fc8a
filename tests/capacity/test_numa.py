# SPDX-License-Identifier: Apache-2.0
"""What servers need of NUMA cells; that as many fit as with Nova is compared in differential/."""

import pytest

from tests.reconcile.expected.asking import flavor
from trueup.capacity.numa import CellNeed, HostCells, NumaNeed, need_of
from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import HostCell, MemoryPages


@pytest.mark.parametrize(
    ("specs", "cells"),
    [
        ({"hw:cpu_policy": "dedicated"}, [CellNeed(0, 2, 256)]),
        ({"hw:numa_nodes": "2"}, [CellNeed(1, 0, 128)] * 2),
        ({"hw:mem_page_size": "2MB"}, [CellNeed(2, 0, 256, 2048)]),
        ({"hw:mem_page_size": "1048576"}, [CellNeed(2, 0, 256, 1048576)]),
        ({"hw:mem_page_size": "large"}, [CellNeed(2, 0, 256, "large")]),
        (
            {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
            [CellNeed(0, 3, 256)],
        ),
        (
            {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0"},
            [CellNeed(1, 1, 256)],
        ),
    ],
)
def test_what_a_flavor_asks_for(specs, cells):
    assert need_of(flavor(specs), {}) == NumaNeed(tuple(cells))


def test_an_image_may_ask_for_it_too():
    need = need_of(flavor(), {"hw_numa_nodes": "1", "hw_mem_page_size": "any"})
    assert need == NumaNeed((CellNeed(2, 0, 256, "any"),))


def test_a_plain_flavor_may_be_anywhere():
    assert need_of(flavor(), {}) is None
    assert need_of(flavor({"hw:cpu_policy": "shared"}), {}) is None


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
    assert isinstance(need_of(flavor(specs), {}), Unknown)


def test_each_cell_of_a_server_needs_a_cell_for_itself():
    cells = [HostCell(n, frozenset({n}), frozenset(), 1000) for n in range(2)]
    host = HostCells(cells, 1.0, 1.0)
    assert not host.place(NumaNeed((CellNeed(2, 0, 10),)))
    assert host.place(NumaNeed((CellNeed(1, 0, 10),) * 2))
    assert host.count(NumaNeed((CellNeed(1, 0, 10),)), most=9) == 0


def test_pages_are_used_up():
    pages = (MemoryPages(4, 10000), MemoryPages(2048, 5, used=1, reserved=1))
    host = HostCells([HostCell(0, frozenset(range(9)), frozenset(), 1000, pages=pages)], 9.0, 9.0)
    assert host.count(NumaNeed((CellNeed(1, 0, 2, "large"),)), most=9) == 3
