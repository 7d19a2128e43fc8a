# SPDX-License-Identifier: Apache-2.0
"""The NUMA cells of a host as Nova keeps them, and as nobody should have written them."""

import json

import pytest

from tests.reconcile.sources.rows import row_of
from trueup.reconcile.facts import HostCell, HostTopology, MemoryPages
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.nova import tables
from trueup.reconcile.sources.nova.numa import host_topology
from trueup.reconcile.sources.reading import Reader


def versioned(name: str, **fields: object) -> dict[str, object]:
    return {"nova_object.name": name, "nova_object.version": "1.5", "nova_object.data": fields}


CELL = {
    "id": 1,
    "cpuset": [4, 5],
    "pcpuset": [6, 7],
    "memory": 16000,
    "cpu_usage": 3,
    "memory_usage": 2048,
    "pinned_cpus": [6],
    "siblings": [[4, 5], [6, 7]],
    "mempages": [
        versioned("NUMAPagesTopology", size_kb=2048, total=512, used=10, reserved=2),
        versioned("NUMAPagesTopology", size_kb=4, total=3000000, used=0),
    ],
    "network_metadata": None,
    "socket": 0,
}


def read(text: str | None, notes: Notes | None = None) -> HostTopology | None:
    row = row_of(tables.compute_nodes, id=3, numa_topology=text)
    return host_topology(Reader("compute_nodes", notes or Notes()), row)


def written(**changes: object) -> str:
    cell = {**CELL, **changes}
    return json.dumps(versioned("NUMATopology", cells=[versioned("NUMACell", **cell)]))


def test_the_cells_of_a_host():
    found = read(written())
    assert found == HostTopology(
        (
            HostCell(
                number=1,
                shared=frozenset({4, 5}),
                dedicated=frozenset({6, 7}),
                memory_mb=16000,
                cpus_used=3,
                memory_used_mb=2048,
                pinned=frozenset({6}),
                pages=(MemoryPages(2048, 512, 10, 2), MemoryPages(4, 3000000)),
                siblings=(frozenset({4, 5}), frozenset({6, 7})),
                socket=0,
            ),
        )
    )
    assert found is not None
    assert found.cells is not None
    assert found.cells[0].free_dedicated == {7}
    assert found.cells[0].pages[0].free == 500


def test_a_cell_may_be_near_to_networks():
    for networks in ({"physnets": ["public"]}, {"physnets": [], "tunneled": True}):
        found = read(written(network_metadata=versioned("NetworkMetadata", **networks)))
        assert found is not None
        assert [cell.networks for cell in found.cells or ()] == [True]


def test_before_train_the_same_processors_are_for_both():
    document = json.loads(written())
    del document["nova_object.data"]["cells"][0]["nova_object.data"]["pcpuset"]
    found = read(json.dumps(document))
    assert found is not None
    assert found.cells is not None
    assert found.cells[0].dedicated == found.cells[0].shared == {4, 5}


def test_a_host_without_numa_cells():
    assert read(None) is None
    assert read("") is None


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", "{}", '{"nova_object.data": {"cells": [{}]}}', written(memory=None)],
)
def test_what_is_no_topology_is_noted(text):
    notes = Notes()
    assert read(text, notes) == HostTopology(None)
    [unread] = notes.unread
    assert (unread.table, unread.row, unread.column) == ("compute_nodes", "3", "numa_topology")
