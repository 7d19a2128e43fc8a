# SPDX-License-Identifier: Apache-2.0
"""What a retirement writes, and in which order."""

from dataclasses import replace

from tests.reconcile.runbooks.preparing import retirement_of
from tests.scenarios.drafting import Draft
from tests.scenarios.names import uuid_of
from trueup.reconcile.reasons import because
from trueup.reconcile.steps import (
    AgentsDown,
    HostEmpty,
    NodeGone,
    ServiceDown,
    ServiceRecord,
    WholeProvider,
)

DEAD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192 up
  server web on h2 VCPU=2 MEMORY_MB=256
  evacuation of web from h1 done
provider nic of h1 NET_BW=100
provider gpu of h1 VGPU=8 traits=OWNER_NOVA
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
"""


def test_residue_is_released_before_its_provider_and_children_before_the_service():
    prepared = retirement_of("h1", DEAD, agents=())
    released, *children, last = prepared.plan.steps
    assert released.consumers == (uuid_of("web"),)
    assert {step.changes[0].target for step in children} == {
        WholeProvider(uuid_of("nic")), WholeProvider(uuid_of("gpu"))
    }  # fmt: skip
    assert [one.target for one in last.changes] == [
        ServiceRecord(uuid_of("cell1"), "h1"), WholeProvider(uuid_of("h1"), aggregates=False)
    ]  # fmt: skip
    assert set(last.needs) == {step.id for step in (released, *children)}
    assert all(released.id in step.needs for step in children)
    assert prepared.permanent == because("service-not-made-again")


def test_what_it_rests_on_is_read_again_before_each_deletion():
    for step in retirement_of("h1", DEAD, agents=()).plan.steps[1:]:
        assert HostEmpty("h1") in step.guards
        assert ServiceDown(uuid_of("cell1"), "h1") in step.guards


def test_that_no_agent_is_alive_is_read_again_where_one_would_report_a_child_again():
    def guarded(**said) -> set[bool]:
        steps = retirement_of("h1", DEAD, **said).plan.steps[1:]
        return {AgentsDown("h1") in step.guards for step in steps}

    assert guarded(agents=()) == {True}
    assert guarded(agents_gone=True) == {False}, "Neutron cannot be asked"


def test_every_step_needs_only_earlier_ones():
    done: set[str] = set()
    for step in retirement_of("h1", DEAD, agents=()).plan.steps:
        assert set(step.needs) <= done
        done.add(step.id)


def of_one_service(draft: Draft) -> None:
    """All nodes are those of the service of `conductor`."""
    draft.nodes = [replace(row, host="conductor", hypervisor="ironic") for row in draft.nodes]
    draft.services = [replace(draft.services[0], host="conductor")]
    draft.host_cells = {"conductor": "cell1"}


def test_an_ironic_service_with_many_nodes_is_one_plan():
    """All nodes go with their service, in one step: Nova deletes them in one request."""
    nodes = "\n".join(f"host node{number} CUSTOM_BAREMETAL=1" for number in range(300))
    prepared = retirement_of("conductor", f"cell1\n{nodes}\n", of_one_service)
    [step] = prepared.plan.steps
    assert len(step.changes) == 301
    assert len(prepared.plan.subjects) == 301


def test_only_what_is_left_is_deleted_when_the_service_is_gone():
    text = DEAD + "forget h1\n"
    prepared = retirement_of("h1", text, agents=())
    assert prepared.permanent is None
    targets = [one.target for step in prepared.plan.steps for one in step.changes]
    assert targets[-1] == WholeProvider(uuid_of("h1"))
    assert not any(isinstance(one, ServiceRecord) for one in targets)
    gone = NodeGone(uuid_of("h1"), "h1", uuid_of("cell1"), "h1")
    assert gone in prepared.plan.steps[-1].guards


def test_a_node_without_provider_gets_one_that_nova_can_delete():
    made, last = retirement_of("h1", "cell1\n  host h1 without-provider\n").plan.steps
    [change] = made.changes
    assert (change.before, change.after.name) == (None, "h1")
    assert made.id in last.needs
    assert last.changes[1].before == change.after
