# SPDX-License-Identifier: Apache-2.0
"""What if: the count is that of the cloud in which it is done."""

from dataclasses import replace

from tests.reconcile.scheduling.server_cells import server_cells
from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import Asked, asked_of_amounts
from trueup.capacity.counting import By, Later, capacity
from trueup.capacity.what_if import WhatIf, assumed
from trueup.reconcile.facts import Facts, HostCell, HostTopology, MemoryPages

HOSTS = """
cell1
  host h1 VCPU=8 up traits=CUSTOM_FAST aggregates=rack
  host h2 VCPU=5 up aggregates=rack
  provider gpu of h1 VGPU=2
aggregate rack h1
holds web h1 VCPU=6
"""
ONE_CPU = asked_of_amounts({"VCPU": 1})


def fits(facts: Facts, asked: Asked = ONE_CPU) -> int:
    [row] = capacity([asked], facts, By.CLOUD, Later()).rows
    return row.now.fits


def facts_of(text: str = HOSTS) -> Facts:
    return read_cloud(text).facts()


def test_without_a_host_the_others_are_left():
    assert fits(facts_of()) == 7
    assert fits(assumed(facts_of(), WhatIf(without=("h1",)))) == 5
    disabled = HOSTS.replace("h1 VCPU=8 up", "h1 VCPU=8 up disabled")
    assert fits(facts_of(disabled)) == 5


def test_with_more_hosts_like_one_they_are_empty_and_have_all_that_it_has():
    more = assumed(facts_of(), WhatIf(more={"h1": 2}))
    assert fits(more) == 7 + 2 * 8
    assert fits(more, asked_of_amounts({"VCPU": 4, "VGPU": 2}, ["CUSTOM_FAST"])) == 2
    rows = capacity([ONE_CPU], more, By.AGGREGATE, Later()).rows
    assert [(row.group, row.now.fits) for row in rows] == [("rack", 2 + 2 * 8)]


def test_a_pool_is_shared_with_the_new_hosts_too():
    facts = facts_of(HOSTS + "provider disks DISK_GB=5 sharing aggregates=rack")
    pool = facts.providers[uuid_of("disks")]
    shared = replace(pool, shares_with=frozenset({uuid_of("h1")}), aggregates=None)
    facts = replace(facts, providers={**facts.providers, pool.uuid: shared})
    asked = asked_of_amounts({"VCPU": 1, "DISK_GB": 1})
    assert fits(facts, asked) == 2
    assert fits(assumed(facts, WhatIf(more={"h1": 1})), asked) == 5


def test_numa_cells_of_new_hosts_are_empty():
    cell = HostCell(
        0, frozenset({0}), frozenset(range(1, 5)), 100, pinned=frozenset({1, 2}),
        pages=(MemoryPages(4, 25600, used=25600),),
    )  # fmt: skip
    facts = facts_of()
    nodes = tuple(replace(row, numa=HostTopology((cell,))) for row in facts.compute_nodes)
    facts = replace(facts, compute_nodes=nodes)
    asked = replace(ONE_CPU, numa=server_cells(0, 1, 10))
    assert fits(facts, asked) == 0
    assert fits(assumed(facts, WhatIf(more={"h2": 1})), asked) == 4


def test_ratios_and_reservations_are_those_of_all_hosts():
    assert fits(assumed(facts_of(), WhatIf(ratios={"VCPU": 2.0}))) == 10 + 10
    assert fits(assumed(facts_of(), WhatIf(reserved={"VCPU": 1}))) == 1 + 4
    both = WhatIf(ratios={"VCPU": 2.0}, reserved={"VCPU": 1}, without=("h1",))
    assert fits(assumed(facts_of(), both)) == 8
