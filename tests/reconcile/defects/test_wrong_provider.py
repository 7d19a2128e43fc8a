# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import declined, guards, left_with, reason, steps
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import wrong_provider
from trueup.reconcile.steps import DomainIs, NodeGone, ServiceDown

CLOUD = """
cell1
  host h1 VCPU=8 PCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 PCPU=8 MEMORY_MB=8192 {}
  server web on h1 {} VCPU=2 MEMORY_MB=256
{}
holds web h2 {}=2 MEMORY_MB=256
"""


@pytest.mark.parametrize(
    ("server", "held", "after"),
    [
        ("", "VCPU", "VCPU"), ("", "PCPU", "VCPU"),
        ("pinned", "VCPU", "PCPU"), ("pinned numa-pinned", "PCPU", "PCPU"),
    ],
)  # fmt: skip
def test_flavor_and_image_decide_the_processors_not_what_it_held(server, held, after):
    left = left_with(steps(wrong_provider, CLOUD.format("", server, "", held)))[uuid_of("web")]
    assert left is not None
    assert left.amounts == {uuid_of("h1"): {after: 2, "MEMORY_MB": 256}}


def test_a_guest_with_dedicated_processors_is_never_given_shared_ones():
    assert "pins processors" in reason(wrong_provider, CLOUD.format("", "numa-pinned", "", "PCPU"))


def test_the_other_host_must_not_run_the_guest_at_the_write():
    asked = "hypervisor h1\nhypervisor h2"
    made = steps(wrong_provider, CLOUD.format("", "", asked, "VCPU"))
    assert guards(made, DomainIs) == [DomainIs("h2", uuid_of("web"), None)]
    assert guards(made, ServiceDown) == []


def test_after_an_evacuation_the_other_host_must_be_down_as_well():
    done = "  evacuation of web from h2 done"
    assert [
        one.host
        for one in guards(steps(wrong_provider, CLOUD.format("", "", done, "VCPU")), ServiceDown)
    ] == ["h2"]
    assert "which is up and has not cleaned up" in reason(
        wrong_provider, CLOUD.format("up", "", done, "VCPU")
    )


def test_a_host_that_is_gone_must_still_be_gone():
    made = steps(wrong_provider, CLOUD.format("", "", "forget h2", "VCPU"))
    assert guards(made, NodeGone) == [NodeGone(uuid_of("h2"), "", uuid_of("cell1"), "")]


def test_deleted_compute_nodes_with_one_uuid_are_one_condition():
    """Neither name matters: each may be another host's now, or this host's again."""
    facts = facts_of(CLOUD.format("", "", "forget h2", "VCPU"))
    [last] = facts.deleted_compute_nodes
    twice = replace(facts, deleted_compute_nodes=(replace(last, node="another"), last))
    assert [one.name for one in guards(steps(wrong_provider, twice), NodeGone)] == [""]


def test_what_is_on_the_move_by_now_has_no_step():
    cloud = CLOUD.format("", "", "", "VCPU")
    moving = CLOUD.format("", "task=migrating", "", "VCPU")
    assert "is not known" in declined(wrong_provider, cloud, moving)
