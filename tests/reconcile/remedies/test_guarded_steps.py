# SPDX-License-Identifier: Apache-2.0
"""The guards of a step: every condition that its finding rests on."""

from dataclasses import replace

import pytest

from tests.reconcile.observing import plan_of
from tests.reconcile.planning import facts_of, planned
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import CellFresh, DomainIs, Guard, MigrationState, NodeIs, ServiceDown

HOSTS = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192 up
"""
EVACUATED = """
  server web on h2 VCPU=2 MEMORY_MB=256
  evacuation of web from h1 done
holds web h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2 MEMORY_MB=256
"""
CELL, FRESH = uuid_of("cell1"), CellFresh(uuid_of("cell1"), 60)
HERE = NodeIs(CELL, "h2", uuid_of("h2"))
STILL_DONE = MigrationState(CELL, uuid_of("web"), uuid_of("evacuation-of-web"), "done")


def guards_of(text: str) -> tuple[Guard, ...]:
    """The guards of the only step, after that of the instance's state."""
    [step] = planned(HOSTS + text).steps
    return step.guards[1:]


def test_its_cell_has_to_stay_fresh():
    assert FRESH in guards_of("  server web on h1 VCPU=2 MEMORY_MB=256\n")


def test_its_host_has_to_have_the_compute_node_whose_provider_is_written():
    missing = guards_of("  server web on h1 VCPU=2 MEMORY_MB=256\n")
    assert missing == (FRESH, NodeIs(CELL, "h1", uuid_of("h1")))
    deleted = "  server web on h1 deleted=3600\nholds web h1 VCPU=2 MEMORY_MB=256\n"
    assert not any(isinstance(one, NodeIs) for one in guards_of(deleted)), "nothing is left"


def reason_of(text: str) -> str:
    """Why there is no step for the only finding."""
    [declined] = planned(HOSTS + text).declined
    return in_words(declined.reason)


def test_placement_takes_nothing_of_nobody_and_no_type_in_small_letters():
    """Apply would be refused, and the next plan would have the step again."""
    assert "no project or user" in reason_of("  server web on h1 project= VCPU=2 MEMORY_MB=256\n")
    held = "  server web on h1 VCPU=2 MEMORY_MB=256\nholds web h1 VCPU=1 MEMORY_MB=256\n"
    facts, web = facts_of(HOSTS + held), uuid_of("web")
    holding = facts.holdings[web]
    typed = replace(holding.allocations, consumer_type="instance")
    plan = plan_of(replace(facts, holdings={web: replace(holding, allocations=typed)}))
    assert plan.steps == ()
    assert "consumer type 'instance'" in in_words(plan.declined[0].reason)


def test_the_host_that_it_was_evacuated_from_has_to_stay_down():
    assert guards_of(EVACUATED) == (FRESH, HERE, ServiceDown(CELL, "h1"), STILL_DONE)


def test_a_hypervisor_that_was_asked_has_to_say_the_same_again():
    asked = f"{EVACUATED}guest web on h1 shut off\nguest web on h2 running\n"
    assert guards_of(asked) == (
        FRESH,
        HERE,
        ServiceDown(CELL, "h1"),
        DomainIs("h1", uuid_of("web"), "shut off"),
        STILL_DONE,
    )
    assert guards_of(f"{EVACUATED}guest web on h2 running\n")[-2] == DomainIs(
        "h1", uuid_of("web"), None
    )


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ({"max_unit": 1}, "h1 gives VCPU from 1 to 1 in steps of 1, so Placement would refuse 2"),
        ({"min_unit": 3}, "h1 gives VCPU from 3 to 2147483647 in steps of 1"),
        ({"step_size": 4}, "in steps of 4, so Placement would refuse 2"),
    ],
)
def test_an_amount_that_an_inventory_does_not_allow_is_declined(units, words):
    facts = facts_of(f"{HOSTS}  server web on h1 VCPU=2 MEMORY_MB=256\n")
    h1 = facts.providers[uuid_of("h1")]
    stock = {**h1.inventories, "VCPU": replace(h1.inventories["VCPU"], **units)}
    providers = {**facts.providers, h1.uuid: replace(h1, inventories=stock)}
    plan = plan_of(replace(facts, providers=providers))
    assert plan.steps == ()
    [declined] = plan.declined
    assert words in in_words(declined.reason)


@pytest.mark.parametrize(
    "held",
    [
        "holds web h1 VCPU=1 MEMORY_MB=256 VGPU=1\n",
        "holds web h2 VCPU=2 MEMORY_MB=256\nholds web h1 VGPU=1\n",
        "holds web h1 VCPU=2 MEMORY_MB=256 VGPU=1\nholds web h2 VCPU=2 MEMORY_MB=256\n",
    ],
)
def test_what_would_be_kept_of_a_class_without_inventory_is_declined(held):
    """Placement refuses the whole write, each time that it is planned."""
    [declined] = (
        row
        for row in planned(f"{HOSTS}  server web on h1 VCPU=2 MEMORY_MB=256\n{held}").declined
        if row.finding.subject.uuid == uuid_of("web")
    )
    assert "h1 has no inventory of the VGPU that it would keep" in in_words(declined.reason)


def test_what_is_released_of_a_class_without_inventory_is_no_hindrance():
    plan = planned(
        f"{HOSTS}  server web on h1 VCPU=2 MEMORY_MB=256\n"
        "holds web h1 VCPU=2 MEMORY_MB=256 VGPU=1\n"
        "  server old on h1 deleted=3600\nholds old h1 VCPU=2 VGPU=1\n"
    )
    assert [step.consumers for step in plan.steps] == [(uuid_of("old"),)]


def test_a_migration_whose_claim_is_released_has_to_keep_its_status():
    guards = guards_of(
        "  server web on h1 VCPU=2 MEMORY_MB=256\n"
        "  resize of web from h1 error\n"
        "holds resize-of-web h1 VCPU=2 MEMORY_MB=256\n"
    )
    assert guards == (
        FRESH,
        NodeIs(CELL, "h1", uuid_of("h1")),
        MigrationState(CELL, uuid_of("web"), uuid_of("resize-of-web"), "error"),
    )


def test_an_allocation_is_moved_only_while_the_guest_is_not_where_it_was():
    guards = guards_of(
        "  server web on h1 VCPU=2 MEMORY_MB=256\n"
        "holds web h2 VCPU=2 MEMORY_MB=256\n"
        "guest web on h1 running\n"
    )
    here = NodeIs(CELL, "h1", uuid_of("h1"))
    assert guards == (FRESH, here, DomainIs("h2", uuid_of("web"), None))
