# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.defects.asking import found, guards, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import duplicate_provider, orphaned_provider
from trueup.reconcile.steps import NodeGone, NodeIs

CLOUD = """
cell1
  host h1 VCPU=8 traits=OWNER_NOVA aggregates=
provider gpu of h1 VGPU=8 traits=OWNER_NOVA aggregates=
provider h1.example.org VCPU=8
rename h1 h1.example.org
"""


def test_the_deepest_providers_go_first_and_each_needs_those_below_it():
    below, root = steps(duplicate_provider, CLOUD)
    assert (below.id, root.id) == (
        f"whole-provider:{uuid_of('gpu')}",
        f"whole-provider:{uuid_of('h1')}",
    )
    assert root.needs == (below.id,)


def test_each_write_needs_the_old_node_gone_and_the_new_one_there():
    made = steps(duplicate_provider, CLOUD)
    assert {one.node for one in guards(made, NodeGone)} == {uuid_of("h1")}
    assert {one.host for one in guards(made, NodeGone)} == {""}, "the service lives on"
    assert {one.name for one in guards(made, NodeGone)} == {""}, "the new node may have the name"
    assert {one.node for one in guards(made, NodeIs)} == {uuid_of("h1.example.org")}
    assert all(any(isinstance(one, NodeGone) for one in step.guards) for step in made)


def test_a_deleted_node_is_a_duplicate_or_an_orphan_and_never_both():
    assert found(duplicate_provider, CLOUD)
    assert verdicts(orphaned_provider, CLOUD) == []
    forgotten = "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nforget h1\n"
    assert verdicts(duplicate_provider, forgotten) == []
    assert found(orphaned_provider, forgotten)
