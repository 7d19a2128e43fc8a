# SPDX-License-Identifier: Apache-2.0
"""The order in which hosts are filled; why hosts are left out is in test_counting."""

from dataclasses import replace

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.ledger import view_of
from trueup.capacity.places import cells_of, in_order, places
from trueup.reconcile.facts import Facts, HostCell, HostTopology


def order(facts: Facts) -> list[str]:
    return [place.host for place, _ in in_order(places(facts), view_of(facts, []))]


def test_the_host_with_the_most_free_is_filled_first():
    text = """
cell1
  host a VCPU=8 MEMORY_MB=100 DISK_GB=10 up
  host b VCPU=8 MEMORY_MB=900 DISK_GB=10 up
  host c VCPU=8 MEMORY_MB=900 DISK_GB=10 up
holds web b MEMORY_MB=100
holds db c VCPU=8
"""
    # b lacks an eighth of the memory, c all CPUs, a nearly all memory.
    assert order(read_cloud(text).facts()) == ["b", "a", "c"]


def test_hosts_that_are_alike_follow_each_other_by_name():
    text = "cell1\n  host b VCPU=8 up\n  host a VCPU=8 up\n  host off VCPU=9 up disabled"
    assert order(read_cloud(text).facts()) == ["a", "b"]
    assert order(read_cloud("cell1").facts()) == []


def test_numa_cells_are_those_of_the_only_node_with_a_provider():
    facts = read_cloud("cell1\n  host a VCPU=8 up").facts()
    [place], [node] = places(facts), facts.compute_nodes
    assert cells_of(place, facts) is None
    topology = HostTopology((HostCell(0, frozenset({0}), frozenset(), 100),))
    known = replace(facts, compute_nodes=(replace(node, numa=topology),))
    assert cells_of(place, known) is not None
    unreadable = replace(facts, compute_nodes=(replace(node, numa=HostTopology(None)),))
    assert cells_of(place, unreadable) is None
    assert place.provider == uuid_of("a")
