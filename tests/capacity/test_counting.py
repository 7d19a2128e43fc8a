# SPDX-License-Identifier: Apache-2.0
"""Counts over small clouds in words: what Nova leaves out, what binds, what is not known."""

from dataclasses import replace

import pytest

from tests.reconcile.scheduling.server_cells import server_cells
from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import Asked, Gap, asked_of_amounts, gaps_of
from trueup.capacity.counting import Bind, By, Capacity, Count, Later, capacity
from trueup.capacity.places import LeftOut
from trueup.reconcile.facts import (
    Facts,
    HostAggregate,
    HostCell,
    HostTopology,
    Inventory,
    LedgerFault,
)

NOT_ASKED = Later()
TWO_CPUS = asked_of_amounts({"VCPU": 2})


def facts_of(text: str) -> Facts:
    return read_cloud(text).facts()


def counted(
    facts: Facts, asked: Asked = TWO_CPUS, by: By = By.CLOUD, later: Later = NOT_ASKED
) -> Capacity:
    return capacity([asked], facts, by, later)


def now(facts: Facts, asked: Asked = TWO_CPUS) -> Count:
    [row] = counted(facts, asked).rows
    return row.now


def binds(facts: Facts, asked: Asked = TWO_CPUS) -> dict[tuple[Bind, str], int]:
    [row] = counted(facts, asked).rows
    return dict(row.binds)


HOSTS = """
cell1
  host h1 VCPU=8 up
  host h2 VCPU=5 up
cell2
  host h3 VCPU=2 up
"""


def test_hosts_are_counted_one_by_one():
    assert now(facts_of(HOSTS)) == Count(fits=7, hosts=3, largest=4)
    assert binds(facts_of(HOSTS)) == {(Bind.CLASS, "VCPU"): 3}


def test_what_is_held_is_not_free():
    facts = facts_of(HOSTS + "holds web h1 VCPU=7\nholds move h2 VCPU=1")
    assert now(facts) == Count(fits=3, hosts=2, largest=2)


def test_what_placement_counts_and_does_not_list_is_not_free():
    fault = LedgerFault("consumerless", uuid_of("h1"), "no consumer", "VCPU", 7)
    facts = replace(facts_of(HOSTS), ledger_faults=(fault,))
    assert now(facts).fits == 3


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("host h9 VCPU=8 up disabled", LeftOut.DISABLED),
        ("host h9 VCPU=8 up traits=COMPUTE_STATUS_DISABLED", LeftOut.DISABLED),
        ("host h9 VCPU=8", LeftOut.DOWN),
        ("host h9 VCPU=8 up\n  unmapped h9", LeftOut.NOT_MAPPED),
        ("host h9 VCPU=8 up\n  forget-service h9", LeftOut.NO_SERVICE),
        ("host h9 without-provider up", LeftOut.NO_PROVIDER),
        ("host h9 VCPU=8 up\n  provider nic of h9 root=h1 NET_BW=1", LeftOut.BROKEN_TREE),
    ],
)
def test_hosts_that_nova_does_not_use_are_left_out_and_counted(change, why):
    found = counted(facts_of(f"cell1\n  host h2 VCPU=2 up\n  host h1 VCPU=2 up\n  {change}"))
    [row] = found.rows
    assert LeftOut(why) in found.left_out
    assert row.binds[Bind.LEFT_OUT, why] == found.left_out[why]
    assert row.now.fits == (1 if why is LeftOut.BROKEN_TREE else 2)


def test_a_disabled_cell_gets_no_servers():
    found = counted(facts_of(HOSTS + "disabled cell1"))
    assert found.left_out == {LeftOut.CELL_DISABLED: 2}
    assert found.rows[0].now.fits == 1


def test_hosts_of_a_silent_cell_are_named_and_not_counted():
    text = HOSTS.replace("VCPU", "MEMORY_MB").replace("cell2", "cell2 silent")
    found = counted(facts_of(text), asked_of_amounts({"MEMORY_MB": 1}))
    assert found.unknown_hosts == ("h3",)
    assert found.rows[0].now.hosts == 2


def test_what_keeps_the_first_server_away():
    text = """
cell1
  host small VCPU=1 up
  host plain VCPU=8 up traits=
  host strict VCPU=8 up traits=CUSTOM_FAST
  host none MEMORY_MB=8 up traits=CUSTOM_FAST
"""
    facts = facts_of(text)
    strict = facts.providers[uuid_of("strict")]
    limited = replace(strict, inventories={"VCPU": Inventory(8, 0, 1.0, max_unit=1)})
    facts = replace(facts, providers={**facts.providers, strict.uuid: limited})
    assert binds(facts, asked_of_amounts({"VCPU": 2}, ["CUSTOM_FAST"])) == {
        (Bind.CLASS, "VCPU"): 2,
        (Bind.UNIT, "VCPU"): 1,
        (Bind.FILTER, "required=CUSTOM_FAST"): 1,
    }


def test_a_host_is_in_its_cell_its_zone_and_its_aggregates():
    facts = facts_of(HOSTS + "aggregate rack h1 h2\naggregate east h2 h3\n")
    rack, east = facts.host_aggregates
    east = replace(east, metadata={"availability_zone": "az-east"})
    facts = replace(facts, host_aggregates=(rack, east))
    expected = {
        By.CELL: {"cell1": 6, "cell2": 1},
        By.ZONE: {"nova": 4, "az-east": 3},
        By.AGGREGATE: {"rack": 6, "east": 3},
        By.HOST: {"h1": 4, "h2": 2, "h3": 1},
    }
    for by, groups in expected.items():
        assert {row.group: row.now.fits for row in counted(facts, by=by).rows} == groups


POOL = """
cell1
  host h1 VCPU=8 up aggregates=rack
  host h2 VCPU=8 up aggregates=rack
  provider disks DISK_GB=50 sharing aggregates=rack
aggregate left h1
aggregate right h2
"""


def test_a_group_is_counted_as_if_only_it_were_filled():
    facts = facts_of(POOL)
    pool = facts.providers[uuid_of("disks")]
    shared = replace(pool, shares_with=frozenset({uuid_of("h1"), uuid_of("h2")}))
    facts = replace(facts, providers={**facts.providers, pool.uuid: shared})
    asked = asked_of_amounts({"VCPU": 2, "DISK_GB": 10})
    assert now(facts, asked).fits == 5
    groups = counted(facts, asked, By.AGGREGATE).rows
    assert [(row.group, row.now.fits) for row in groups] == [("left", 4), ("right", 4)]


def test_an_aggregate_may_limit_the_servers_of_a_host():
    text = HOSTS + "aggregate few h1\n"
    facts = facts_of(text.replace("cell2", "  server web on h1 VCPU=1 MEMORY_MB=1\ncell2"))
    [few] = facts.host_aggregates
    few = HostAggregate(few.uuid, few.name, few.hosts, {"max_instances_per_host": "3"})
    facts = replace(facts, host_aggregates=(few,))
    assert now(facts) == Count(fits=5, hosts=3, largest=2)
    assert binds(facts)[Bind.SERVERS_MAX, ""] == 1


def test_numa_cells_bound_what_fits():
    facts = facts_of(HOSTS)
    cells = (
        HostCell(0, frozenset(), frozenset({0, 1, 2}), memory_mb=100),
        HostCell(1, frozenset(), frozenset({4, 5}), memory_mb=100),
    )
    nodes = [
        replace(node, numa=HostTopology(cells) if node.host == "h1" else None)
        for node in facts.compute_nodes
    ]
    facts = replace(facts, compute_nodes=tuple(nodes))
    asked = replace(TWO_CPUS, numa=server_cells(0, 2, 10))
    # h1 has room for two pairs; the others report no cells, and Nova puts none there.
    assert now(facts, asked) == Count(fits=2, hosts=1, largest=2)
    assert binds(facts, asked) == {(Bind.NUMA, ""): 3}


def test_later_counts_are_of_the_facts_of_that_time():
    facts = facts_of(HOSTS + "holds web h1 VCPU=8")
    later = Later(repaired=facts_of(HOSTS), planned=None)
    [row] = counted(facts, later=later).rows
    assert (row.now.fits, row.repaired.fits if row.repaired else None, row.planned) == (3, 7, None)


def test_a_provider_of_two_hosts_is_counted_once():
    facts = facts_of("cell1\n  host h1 VCPU=8 up\ncell2\n  host h2 VCPU=8 up")
    first, second = facts.compute_nodes
    facts = replace(facts, compute_nodes=(first, replace(second, uuid=first.uuid)))
    found = capacity([asked_of_amounts({"VCPU": 1})], facts, By.CLOUD, Later())
    assert [row.now for row in found.rows] == [Count(8, 1, 8)]
    assert found.left_out == {LeftOut.SAME_PROVIDER: 1}


@pytest.mark.parametrize("key", ["filter_tenant_id", "filter_tenant_id_2", "trait:CUSTOM_X"])
def test_aggregates_that_may_be_kept_for_some_make_counts_uncertain(key):
    facts = facts_of("cell1\n  host h1 VCPU=8 up")
    aggregate = HostAggregate("uuid", "a", ("h1",), {key: "required"})
    assert gaps_of(TWO_CPUS, facts) == frozenset()
    assert gaps_of(TWO_CPUS, replace(facts, host_aggregates=(aggregate,))) == {Gap.AGGREGATE_OWNERS}
