# SPDX-License-Identifier: Apache-2.0
"""What a rekeying writes, and in which order."""

from tests.reconcile.runbooks.preparing import rekeying_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import InstanceState
from trueup.reconcile.steps import (
    NodeIs,
    ProviderFields,
    ProviderNode,
    ServiceDown,
    Tree,
    WholeProvider,
    held_in,
)

NEW = uuid_of("another")
CLASH = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192 uuid=another
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider agent of h1 RATE=100
provider gpu of h1 VGPU=8 traits=OWNER_NOVA
holds web h1 VCPU=2 MEMORY_MB=256
holds web gpu VGPU=1
holds container h1 VCPU=1
"""


def steps():
    return rekeying_of("h1", CLASH, NEW).plan.steps


def test_the_order_of_targets():
    assert [step.changes[0].target for step in steps()] == [
        ProviderNode(uuid_of("h1")),
        WholeProvider(NEW),
        ProviderNode(uuid_of("agent")),
        ProviderNode(uuid_of("gpu")),
        Tree(
            (uuid_of("h1"), NEW),
            tuple(sorted((uuid_of("web"), uuid_of("container")))),
        ),
        WholeProvider(uuid_of("h1")),
    ]


def test_everybody_holds_the_same_of_the_new_provider():
    """Also a consumer that no cell knows; what is held of children stays as it is."""
    [move] = [one for one in steps() if isinstance(one.changes[0].target, Tree)]
    [change] = move.changes
    before, after = held_in(change.before), held_in(change.after)
    assert after[uuid_of("web")].amounts == {
        NEW: {"VCPU": 2, "MEMORY_MB": 256}, uuid_of("gpu"): {"VGPU": 1}
    }  # fmt: skip
    for consumer, held in before.items():
        there = {NEW if uuid == uuid_of("h1") else uuid: row for uuid, row in held.amounts.items()}
        assert after[consumer].amounts == there
    assert change.before.inventories[NEW] == {}
    assert change.after.inventories[uuid_of("h1")] == {}


def test_every_step_needs_only_earlier_ones_and_is_guarded():
    done: set[str] = set()
    for step in steps():
        assert set(step.needs) <= done
        done.add(step.id)
        assert NodeIs(uuid_of("cell1"), "h1", NEW) in step.guards
        assert ServiceDown(uuid_of("cell1"), "h1") in step.guards
    [move] = [one for one in steps() if isinstance(one.changes[0].target, Tree)]
    assert [one.uuid for one in move.guards if isinstance(one, InstanceState)] == [uuid_of("web")]


def test_the_name_is_free_before_the_new_provider_takes_it():
    rename, made, *_ = steps()
    [change] = rename.changes
    assert change.before == ProviderFields("h1", None)
    assert change.after.name == f"h1-{uuid_of('h1')}"
    assert made.changes[0].after.name == "h1"
    assert rename.id in made.needs


def test_a_host_without_a_clash_needs_nothing():
    prepared = rekeying_of("h2", CLASH, None)
    assert prepared.plan.steps == ()
    assert not prepared.blocked
