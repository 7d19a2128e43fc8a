# SPDX-License-Identifier: Apache-2.0
"""Which hosts and trees bear on what is said of some consumers."""

from dataclasses import replace

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.collect import scope

FACTS = facts_of("""
cell1
  host h1 VCPU=8
  host h2 VCPU=8
  host h3 uuid=another VCPU=8
  server web on h1 VCPU=2 MEMORY_MB=256
  server old on h2 deleted=3600
  evacuation of web from h2 done
provider nic of h1 NET_BW=100
provider h3 VCPU=8
provider pool DISK_GB=100 sharing
holds web nic NET_BW=1
holds web pool DISK_GB=1
""")
WEB, OLD = uuid_of("web"), uuid_of("old")


def roots(*names: str) -> set[str]:
    return {uuid_of(name) for name in names}


def test_an_instance_is_on_its_host_and_a_deleted_one_on_none():
    assert scope.hosts_of(FACTS, [WEB, OLD, "nobody's"]) == {"h1"}


def test_a_deleted_instance_left_its_host_and_those_that_it_still_holds():
    facts = replace(FACTS, consumers={**FACTS.consumers, OLD: {uuid_of("nic"): {"NET_BW": 1}}})
    assert scope.hosts_left(facts, [WEB, OLD, "nobody's"]) == {"h1", "h2"}


def test_a_move_is_between_hosts_whether_it_or_its_instance_is_asked_for():
    move = uuid_of("evacuation-of-web")
    assert scope.hosts_of_moves(FACTS, [WEB]) == scope.hosts_of_moves(FACTS, [move]) == {"h2"}
    assert scope.hosts_of_moves(FACTS, [OLD]) == frozenset()


def test_a_node_is_known_by_its_uuid_and_by_its_name():
    nodes = scope.nodes_of(FACTS, frozenset({"h1", "h3"}))
    assert {row.host for row in nodes} == {"h1", "h3"}
    assert scope.roots_of_nodes(FACTS, nodes) == roots("h1", "h3")


def test_a_tree_whose_root_is_gone_is_that_of_the_node_with_its_uuid():
    rest = {uuid: row for uuid, row in FACTS.providers.items() if uuid != uuid_of("h1")}
    broken = replace(FACTS, providers=rest)
    nodes = scope.nodes_of(broken, frozenset({"h1"}))
    assert scope.roots_of_nodes(broken, nodes) == roots("h1")


def test_what_is_held_is_in_trees_and_a_pool_is_one():
    held = FACTS.consumers.values()
    assert scope.roots_of_held(FACTS, held) == roots("h1", "pool")
    assert scope.roots_of_held(FACTS, [{"gone": {"VCPU": 1}}]) == frozenset()
