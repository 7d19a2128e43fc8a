# SPDX-License-Identifier: Apache-2.0
"""Full replaces: what is guarded besides the instance; what they hold is in the scenarios."""

from dataclasses import replace

from tests.reconcile.observing import plan_of
from tests.reconcile.planning import facts_of, planned
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import CellFresh, DomainIs, Guard, MigrationState, NodeIs

CELL = uuid_of("cell1")
FRESH = CellFresh(CELL, 60)
NODE = NodeIs(CELL, "h1", uuid_of("h1"))
WEB = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
"""
TWICE = "holds web h1 VCPU=2 MEMORY_MB=256\nholds web h2 VCPU=2 MEMORY_MB=256\n"


def guards_of(text: str) -> tuple[Guard, ...]:
    """The guards of the only step, after that of the instance's state."""
    [step] = planned(WEB + text).steps
    assert step.consumers == (uuid_of("web"),)
    return step.guards[1:]


def test_a_host_is_released_only_while_its_hypervisor_does_not_run_the_guest():
    assert guards_of(f"{TWICE}guest web on h1 running\n") == (
        FRESH,
        NODE,
        DomainIs("h2", uuid_of("web"), None),
    )
    assert guards_of(TWICE) == (FRESH, NODE)


def test_a_claim_of_another_owner_is_written_as_it_is_with_its_type():
    text = f"{WEB}holds web h1 VCPU=2 MEMORY_MB=256\nowned web user=admin\n"
    facts = facts_of(text)
    for kind in (None, "INSTANCE"):
        held = facts.holdings[uuid_of("web")]
        typed = replace(held, allocations=replace(held.allocations, consumer_type=kind))
        [step] = plan_of(replace(facts, holdings={uuid_of("web"): typed})).steps
        [change] = step.changes
        [after] = change.after.by_consumer.values()
        assert after == replace(typed.allocations, user="a-user")
        assert change.version == {uuid_of("web"): 1}
        assert step.guards[1:] == (FRESH, NODE)


def test_an_owner_that_somebody_else_has_corrected_meanwhile_is_no_step():
    text = f"{WEB}holds web h1 VCPU=2 MEMORY_MB=256\nowned web user=admin\n"
    facts = facts_of(text)
    held = facts.holdings[uuid_of("web")]
    now = replace(held, allocations=replace(held.allocations, user="a-user"), generation=2)
    plan = plan_of(replace(facts, holdings={uuid_of("web"): now}))
    assert plan.steps == ()
    assert [in_words(row.reason) for row in plan.declined] == [
        "its owner has changed since the second observation"
    ]


def test_a_move_that_explains_what_is_held_has_to_keep_its_status():
    move = "  live-migration of web from h1 to h2 failed\n"
    status = MigrationState(CELL, uuid_of("web"), uuid_of("live-migration-of-web"), "failed")
    assert guards_of(move + TWICE) == (FRESH, NODE, status)
