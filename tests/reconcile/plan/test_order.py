# SPDX-License-Identifier: Apache-2.0
"""Steps are ordered so that each has room when its turn comes."""

from dataclasses import replace

import pytest
from msgspec import structs

from tests.reconcile.planning import BROKEN, facts_of, planned
from tests.scenarios.drafting import OWNER, uuid_of
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.plan import HostEffect, ProjectEffect, merged, ordered
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import Step, allocations_step, step_growth

# Both hosts have 8 VCPU; what each server holds is on the host where it is not.
FULL = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server a on h1 VCPU=8 MEMORY_MB=64
  server b on h2 VCPU=8 MEMORY_MB=64
holds a h2 VCPU=8 MEMORY_MB=64
holds b h1 VCPU=8 MEMORY_MB=64
"""


def moved(facts: Facts, name: str, host: str | None, amount: int) -> Step:
    """A step after which a server holds so many VCPU of a host."""
    amounts = {"VCPU": amount, "MEMORY_MB": 64}
    held = Allocations({uuid_of(host): amounts}, **OWNER) if host else None
    return allocations_step({uuid_of(name): held}, facts, (f"wrong:{name}",), ())


def names(steps) -> list[str]:
    known = {uuid_of(name): name for name in "abcd"}
    return ["".join(known[one] for one in step.consumers) for step in steps]


def in_a_row(count: int) -> str:
    """Full hosts, each of which holds what belongs on the next one; the last one is free."""
    servers = range(count)
    hosts = "".join(f"  host h{n} VCPU=8 MEMORY_MB=8192\n" for n in range(count + 1))
    living = "".join(f"  server s{n} on h{n + 1}\n" for n in servers)
    held = "".join(f"holds s{n} h{n} VCPU=8\n" for n in servers)
    return f"cell1\n{hosts}{living}{held}"


@pytest.mark.timeout(120)
def test_five_thousand_steps_of_which_each_waits_for_another():
    """A quadratic order takes minutes for it."""
    count = 5_000
    facts = facts_of(in_a_row(count))
    steps = [moved(facts, f"s{n}", f"h{n + 1}", 8) for n in range(count)]
    order = ordered(steps, facts)
    assert [step.id for step in order.steps] == [step.id for step in reversed(steps)]


@pytest.mark.timeout(120)
def test_five_thousand_steps_of_full_hosts_that_exchange_their_instances():
    count = 2_500
    pairs = range(0, 2 * count, 2)
    facts = facts_of(
        "cell1\n"
        + "".join(f"  host h{n} VCPU=8 MEMORY_MB=64\n" for n in range(2 * count))
        + "".join(f"  server s{n} on h{n ^ 1}\n" for n in range(2 * count))
        + "".join(f"holds s{n} h{n} VCPU=8 MEMORY_MB=64\n" for n in range(2 * count))
    )
    steps = [moved(facts, f"s{n}", f"h{n ^ 1}", 8) for n in range(2 * count)]
    order = ordered(steps, facts)
    together = {step.consumers for step in order.steps}
    assert together == {tuple(sorted((uuid_of(f"s{n}"), uuid_of(f"s{n + 1}")))) for n in pairs}
    assert order.without_room == ()


def test_two_full_hosts_that_hold_each_others_instance_are_one_request():
    facts = facts_of(FULL)
    order = ordered([moved(facts, "a", "h1", 8), moved(facts, "b", "h2", 8)], facts)
    [step] = order.steps
    assert step.consumers == tuple(sorted((uuid_of("a"), uuid_of("b"))))
    assert set(step.because) == {"wrong:a", "wrong:b"}
    assert step_growth(step) == {}
    assert order.without_room == ()


def test_the_plan_of_such_a_cloud_has_one_step():
    plan = planned(FULL)
    [step] = plan.steps
    assert len(step.consumers) == 2
    assert len(plan.findings) == 2
    assert plan.subjects == {uuid_of("a"), uuid_of("b")}


def test_three_hosts_in_a_ring_are_one_request():
    facts = facts_of(
        "cell1\n"
        + "".join(f"  host h{n} VCPU=8 MEMORY_MB=8192\n" for n in (1, 2, 3))
        + "  server a on h1\n  server b on h2\n  server c on h3\n"
        + "holds a h2 VCPU=8\nholds b h3 VCPU=8\nholds c h1 VCPU=8\n"
    )
    steps = [moved(facts, name, f"h{n}", 8) for name, n in zip("abc", (1, 2, 3), strict=True)]
    [step] = ordered(steps, facts).steps
    assert len(step.consumers) == 3


def test_what_frees_room_comes_before_what_needs_it():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8 MEMORY_MB=64\n  host h2 VCPU=8 MEMORY_MB=64\n"
        "  host h3 VCPU=8 MEMORY_MB=64\n  server a on h1\n  server b on h3\n"
        "holds a h2 VCPU=8\nholds b h1 VCPU=8\n"
    )
    for steps in (["a", "b"], ["b", "a"]):
        made = [moved(facts, name, {"a": "h1", "b": "h3"}[name], 8) for name in steps]
        assert names(ordered(made, facts).steps) == ["b", "a"]


def test_what_has_no_room_is_named_with_what_it_lacks():
    facts = facts_of(FULL.replace("holds a", "  server c on h1\nholds a", 1))
    order = ordered([moved(facts, "c", "h1", 2)], facts)
    assert order.steps == ()
    [lacking] = order.without_room
    assert in_words(lacking.reason) == "h1 has 0 of VCPU left, needs 2"


def test_a_finding_without_room_is_declined_in_the_plan():
    plan = planned(
        "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  server a on h1 VCPU=8 MEMORY_MB=64\n"
        "  server b on h1 VCPU=2 MEMORY_MB=64\nholds a h1 VCPU=8 MEMORY_MB=64\n"
    )
    assert plan.steps == plan.findings == ()
    [declined] = plan.declined
    assert in_words(declined.reason) == "h1 has 0 of VCPU left, needs 2"


def test_a_step_waits_for_what_it_needs():
    facts = facts_of(BROKEN)
    first, second, third = planned().steps
    needing = structs.replace(first, needs=(third.id,))
    order = ordered([needing, second, third], facts)
    assert [step.id for step in order.steps].index(third.id) < [
        step.id for step in order.steps
    ].index(first.id)


def test_of_a_selection_room_is_assumed():
    facts = facts_of(FULL)
    narrow = replace(facts, hosts_in_scope=frozenset({"h1"}))
    steps = [moved(facts, "a", "h1", 8), moved(facts, "b", "h2", 8)]
    assert len(ordered(steps, narrow).steps) == 2


def test_effects_say_what_a_step_does_to_hosts_and_projects():
    facts = facts_of(FULL)
    order = ordered([moved(facts, "b", None, 0), moved(facts, "a", "h1", 4)], facts)
    freed, taken = order.effects
    assert freed.step == order.steps[0].id
    assert HostEffect(uuid_of("h1"), "h1", "VCPU", 8, 0, 8) in freed.hosts
    assert ProjectEffect(OWNER["project"], "VCPU", -8) in freed.projects
    vcpus = {one.name: one for one in taken.hosts if one.resource_class == "VCPU"}
    assert {name: (one.used_before, one.used_after) for name, one in vcpus.items()} == {
        "h1": (0, 4),
        "h2": (8, 0),
    }
    assert taken.projects == (ProjectEffect(OWNER["project"], "VCPU", -4),)


@pytest.mark.parametrize("number", [1, 3])
def test_merged_steps_change_everything_at_once(number):
    steps = planned().steps[:number]
    step = merged(steps)
    assert step.consumers == tuple(sorted(one for each in steps for one in each.consumers))
    assert len(step.changes) == 1
    assert step.guards == tuple(guard for each in steps for guard in each.guards)


def test_no_steps_have_an_order_too():
    assert ordered([], facts_of(BROKEN)).steps == ()
