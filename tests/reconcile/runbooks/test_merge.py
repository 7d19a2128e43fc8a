# SPDX-License-Identifier: Apache-2.0
"""What a merging writes: children of both, bandwidth, and the profiles of ports."""

from tests.reconcile.runbooks.preparing import merging_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.steps import NodeGone, PortBinding, ProviderNode, Tree, WholeProvider, held_in

NEW = "h1.example.org"
RENAMED = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  server db on h1 VCPU=1 MEMORY_MB=128
provider h1.example.org VCPU=8 MEMORY_MB=8192
provider h1:agent of h1 NET_BW=100
provider h1.example.org:agent of h1.example.org NET_BW=100
provider h1_gpu of h1 VGPU=8
rename h1 h1.example.org
neutron
port p1 of web NET_BW=10 host=h1 named=h1:agent
holds web h1 VCPU=2 MEMORY_MB=256
holds web h1:agent NET_BW=10
holds web h1_gpu VGPU=1
holds db h1 VCPU=1 MEMORY_MB=128
holds db h1.example.org VCPU=1 MEMORY_MB=128
"""


def test_all_moves_in_one_step_with_the_profiles_of_ports():
    prepared = merging_of("h1", NEW, RENAMED)
    assert not prepared.blocked, prepared.checks
    placed, move, *deleted = prepared.plan.steps
    assert placed.changes[0].target == ProviderNode(uuid_of("h1_gpu"))
    assert placed.changes[0].after.parent == uuid_of(NEW)
    tree, port = move.changes
    assert isinstance(tree.target, Tree)
    assert port.target == PortBinding(uuid_of("p1"))
    assert set(port.after.content["allocation"].values()) == {uuid_of(f"{NEW}:agent")}
    assert [step.changes[0].target for step in deleted] == [
        WholeProvider(uuid_of("h1:agent")), WholeProvider(uuid_of("h1"))
    ]  # fmt: skip


def test_what_is_held_of_both_is_held_once():
    _, move, *_ = merging_of("h1", NEW, RENAMED).plan.steps
    after = held_in(move.changes[0].after)
    assert after[uuid_of("db")].amounts == {uuid_of(NEW): {"VCPU": 1, "MEMORY_MB": 128}}
    assert after[uuid_of("web")].amounts == {
        uuid_of(NEW): {"VCPU": 2, "MEMORY_MB": 256},
        uuid_of(f"{NEW}:agent"): {"NET_BW": 10},
        uuid_of("h1_gpu"): {"VGPU": 1},
    }


def test_the_new_provider_keeps_its_inventories_and_the_old_ones_lose_theirs():
    _, move, *_ = merging_of("h1", NEW, RENAMED).plan.steps
    before, after = move.changes[0].before.inventories, move.changes[0].after.inventories
    assert after[uuid_of(NEW)] == before[uuid_of(NEW)] != {}
    assert after[uuid_of("h1")] == after[uuid_of("h1:agent")] == {}


def test_steps_are_in_order_and_rest_on_the_deleted_node():
    done: set[str] = set()
    for step in merging_of("h1", NEW, RENAMED).plan.steps:
        assert set(step.needs) <= done
        done.add(step.id)
        assert NodeGone(uuid_of("h1"), "", uuid_of("cell1"), "") in step.guards
