# SPDX-License-Identifier: Apache-2.0
"""Mixes over small clouds in words; tests/differential/test_capacity.py has the proof."""

from dataclasses import replace

from tests.capacity.test_counting import HOSTS, NOT_ASKED, facts_of
from tests.reconcile.scheduling.server_cells import server_cells
from trueup.capacity import words
from trueup.capacity.asked import Asked, asked_of_amounts
from trueup.capacity.counting import Bind, By, Capacity, Count, Later
from trueup.capacity.mixing import Portion, mixed
from trueup.reconcile.facts import Facts, HostCell, HostTopology

LARGE, SMALL = asked_of_amounts({"VCPU": 4}), asked_of_amounts({"VCPU": 1})


def counted(
    facts: Facts, by: By = By.CLOUD, later: Later = NOT_ASKED, large: Asked = LARGE
) -> Capacity:
    return mixed([Portion(large, 1), Portion(SMALL, 2)], facts, by, later)


def test_servers_are_made_in_turn_on_the_first_host_with_room():
    # h1 gets a large, two small and a large less; h2 the second large, and then h1 two small.
    large, small = counted(facts_of(HOSTS)).rows
    assert (large.now, small.now) == (Count(2, 2, 1), Count(4, 1, 4))
    assert large.binds == {(Bind.CLASS, "VCPU"): 3}
    assert small.binds == {(Bind.MIX, "VCPU=4"): 3}
    found = counted(facts_of(HOSTS))
    assert words.whole_mixes(found) == {"": 2}
    assert "in turn, 1 VCPU=4, 2 VCPU=1, until" in words.policy(found)


def test_each_group_is_filled_alone():
    found = counted(facts_of(HOSTS), By.CELL)
    assert [(row.group, row.now.fits) for row in found.rows] == [
        ("cell1", 2), ("cell1", 4), ("cell2", 0), ("cell2", 0),
    ]  # fmt: skip


def test_later_counts_are_of_the_facts_of_that_time():
    facts = facts_of(HOSTS + "holds web h1 VCPU=8")
    large, _ = counted(facts, later=Later(repaired=facts_of(HOSTS))).rows
    assert (large.now.fits, large.repaired.fits if large.repaired else None) == (1, 2)


def test_numa_cells_and_limits_of_aggregates_count():
    facts = facts_of(HOSTS.replace("h1 VCPU=8", "h1 VCPU=12") + "aggregate few h2\n")
    [few] = facts.host_aggregates
    limited = replace(few, metadata={"max_instances_per_host": "1"})
    cells = (HostCell(0, frozenset(), frozenset({0, 1, 2, 3, 4}), memory_mb=100),)
    nodes = tuple(replace(row, numa=HostTopology(cells)) for row in facts.compute_nodes)
    facts = replace(facts, compute_nodes=nodes, host_aggregates=(limited,))
    pinned = replace(LARGE, numa=server_cells(0, 4, 10))
    large, small = counted(facts, large=pinned).rows
    # The third has no cell on h1, no place left in the aggregate on h2, and no CPUs on h3.
    assert (large.now, small.now) == (Count(2, 2, 1), Count(4, 1, 4))
    assert large.binds == {(Bind.NUMA, ""): 1, (Bind.SERVERS_MAX, ""): 1, (Bind.CLASS, "VCPU"): 1}
