# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.defects.asking import found
from tests.reconcile.planning import facts_of
from trueup.reconcile.defects import pinned_twice
from trueup.reconcile.facts import HostTopology

CLOUD = """
cell1
  host h1 PCPU=4 MEMORY_MB=8192 cpus=2,3
  server web on h1 pinned on-cpus=2,3 VCPU=2 MEMORY_MB=256
  server db on h1 pinned on-cpus=3,7 VCPU=2 MEMORY_MB=256
holds web h1 PCPU=2 MEMORY_MB=256
holds db h1 PCPU=2 MEMORY_MB=256
"""


def processors(facts) -> list[tuple[int, str]]:
    rows = found(pinned_twice, facts).evidence["processors"]
    return [(row["processor"], row["host_has_it"]) for row in rows]


def test_each_processor_is_named_once():
    assert processors(facts_of(CLOUD)) == [(3, "yes"), (7, "no")]


def test_a_topology_that_cannot_be_read_says_nothing_of_what_is_there():
    facts = facts_of(CLOUD)
    [node] = facts.compute_nodes
    unread = replace(facts, compute_nodes=(replace(node, numa=HostTopology(None)),))
    assert processors(unread) == [(3, "yes")]
