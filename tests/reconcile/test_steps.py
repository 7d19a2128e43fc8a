# SPDX-License-Identifier: Apache-2.0
"""Steps carry what guards them."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import OWNER, uuid_of
from trueup.reconcile.facts import Allocations, Migration
from trueup.reconcile.steps import gains, mark, step_on

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
  server web on h1 VCPU=2 MEMORY_MB=256
  server db on h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2
"""


def held(*pairs: tuple[str, int]) -> Allocations:
    return Allocations(amounts={name: {"VCPU": amount} for name, amount in pairs}, **OWNER)


@pytest.mark.parametrize(
    ("before", "after", "gaining"),
    [
        (None, None, ()),
        (None, held(("a", 1)), ("a",)),
        (held(("a", 1)), None, ()),
        (held(("a", 1)), held(("a", 1)), ()),
        (held(("a", 1)), held(("a", 2)), ("a",)),
        (held(("a", 2)), held(("a", 1)), ()),
        (held(("a", 1)), held(("b", 1)), ("b",)),
        (held(("a", 1)), held(("c", 1), ("b", 1), ("a", 1)), ("b", "c")),
    ],
)
def test_gains_are_the_providers_that_hold_more(before, after, gaining):
    assert gains(before, after) == gaining


def test_another_class_of_the_same_provider_is_a_gain():
    more = Allocations(amounts={"a": {"VCPU": 1, "PCPU": 1}}, **OWNER)
    assert gains(held(("a", 1)), more) == ("a",)


def test_a_step_guards_its_consumer_its_gains_and_its_instance():
    facts = facts_of(CLOUD)
    web = facts.alive[uuid_of("web")]
    after = held((uuid_of("h1"), 2))
    step = step_on(web.uuid, facts, after, "a reason", web)
    assert step.before == held((uuid_of("h2"), 2))
    assert step.after == after
    assert step.guard.consumer_generation == 1
    assert step.guard.provider_generations == {uuid_of("h1"): 1}
    assert step.guard.instance == mark(web, moving=False)
    assert step.because == ("a reason",)
    assert step.id == f"allocations:{web.uuid}"


def test_a_step_on_a_consumer_that_holds_nothing_wants_it_not_to_exist():
    facts = facts_of(CLOUD)
    db = facts.alive[uuid_of("db")]
    step = step_on(db.uuid, facts, held((uuid_of("h1"), 2)), "a reason", db)
    assert step.before is None
    assert step.guard.consumer_generation is None


def test_a_mark_is_the_instance_as_it_was_read_and_whether_it_moves():
    facts = facts_of(CLOUD)
    web = replace(facts.alive[uuid_of("web")], task_state="migrating", node="another")
    found = mark(web, moving=True)
    assert (found.uuid, found.cell, found.host, found.node) == (
        web.uuid, uuid_of("cell1"), "h1", "another"
    )  # fmt: skip
    assert (found.vm_state, found.task_state, found.deleted, found.moving) == (
        "active", "migrating", False, True
    )  # fmt: skip
    assert found.updated_at == web.updated_at


def test_a_move_that_was_read_with_the_facts_is_in_the_guard():
    facts = facts_of(CLOUD)
    web = facts.alive[uuid_of("web")]
    moves = (Migration("m", web.cell, web.uuid, "resize", "running", "h2", "h2"),)
    step = step_on(web.uuid, replace(facts, migrations=moves), None, "a reason", web)
    assert step.guard.instance.moving
