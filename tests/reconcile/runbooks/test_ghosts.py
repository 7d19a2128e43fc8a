# SPDX-License-Identifier: Apache-2.0
"""What Nova, the hypervisors and Placement say of each instance; tests/cli runs the command."""

from dataclasses import replace

import pytest

from tests.reconcile.observing import confirmed_by
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.audit import Observation, observation
from trueup.reconcile.facts import BlockDevice, DomainRecord
from trueup.reconcile.plan import domains_wanted, make_plan
from trueup.reconcile.report.ghosts import attached, ghosts_table, kept, losses
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runbooks.ghosts import (
    Comparison,
    GhostChoice,
    NoGhost,
    compared,
    refuse_strangers,
    remedy,
    removes_definitions,
)
from trueup.reconcile.verdicts import AuditOptions

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server good on h1 VCPU=1 MEMORY_MB=64
  server lost on h2 VCPU=1 MEMORY_MB=64
  server old on h1 deleted=3600
  server runs on h2 deleted=3600
guest good on h1 running
guest old on h1 shut off
guest runs on h2 running
hypervisor h2
holds good h1 VCPU=1 MEMORY_MB=64
holds old h1 VCPU=2 MEMORY_MB=256
holds runs h2 VCPU=2 MEMORY_MB=256
"""


def observed() -> Observation:
    return observation(facts_of(CLOUD), AuditOptions())


EVERYWHERE = GhostChoice()


def rows(chosen: GhostChoice = EVERYWHERE) -> dict[str, Comparison]:
    return {row.uuid: row for row in compared(observed(), chosen)}


def planned(chosen: GhostChoice):
    facts = facts_of(CLOUD)
    confirmed = confirmed_by(facts)
    text = "<domain><name>a</name></domain>"
    records = [
        DomainRecord(uuid, host, text, ("/disk",), "/vars.fd")
        for host, uuid in domains_wanted(confirmed)
    ]
    return make_plan(confirmed, facts.holdings, records, remedy(chosen))


def test_the_three_are_compared_host_by_host():
    found = rows()
    good, lost, old = (found[uuid_of(name)] for name in ("good", "lost", "old"))
    assert (good.agree, good.guests) == (True, {"h1": "running"})
    assert (lost.agree, lost.guests) == (False, {"h2": None})
    assert (old.on_nova, old.on_hypervisors, old.on_ledger) == (set(), {"h1"}, {"h1"})
    assert old.verdicts == ("orphaned-allocation", "ghost-domain")


def test_a_hypervisor_that_is_not_asked_is_not_compared():
    text = CLOUD.replace("guest good on h1 running", "hypervisor h1 silent")
    [row] = [
        one
        for one in compared(observation(facts_of(text), AuditOptions()), GhostChoice())
        if one.uuid == uuid_of("good")
    ]
    assert (row.agree, row.on_hypervisors) == (True, None)


def test_hosts_narrow_the_comparison_and_the_plan():
    only = GhostChoice(hosts=frozenset({"h2"}))
    assert rows(only).keys() == {uuid_of("lost"), uuid_of("runs")}
    assert not planned(only).steps
    assert removes_definitions(planned(GhostChoice(hosts=frozenset({"h1"}))))


def test_only_ghosts_are_planned():
    plan = planned(GhostChoice())
    assert {one.defect for one in plan.findings} == {"orphaned-allocation", "ghost-domain"}
    assert [step.id for step in plan.steps] == [f"domain:{uuid_of('old')}@h1", _release("old")]
    [declined] = plan.declined
    assert in_words(declined.reason).startswith("its guest is running on h2")


def test_a_guest_that_is_named_is_stopped_and_then_released():
    plan = planned(GhostChoice(domains=frozenset({uuid_of("runs")})))
    ids = [step.id for step in plan.steps]
    mine = [f"domain:{uuid_of('runs')}@h2", _release("runs")]
    assert [one for one in ids if one in mine] == mine
    [release] = [step for step in plan.steps if step.id == mine[1]]
    assert release.needs == (mine[0],)
    assert [*losses(plan)] == [
        f"domain {uuid_of('runs')} on h2: its guest is stopped, and what is in its memory is lost"
    ]


def test_the_table_says_what_is_planned_and_what_is_kept():
    seen, plan = observed(), planned(GhostChoice())
    columns, cells = ghosts_table(compared(seen, GhostChoice()), plan, seen.facts)
    by_uuid = {row[0]: dict(zip(columns, row, strict=True)) for row in cells}
    old = by_uuid[uuid_of("old")]
    assert old["Plan"] == "undefine it on h1; release VCPU=2 MEMORY_MB=256 of h1"
    assert old["Nova"] == "deleted at 2026-11-21 11:00:00, was on h1"
    assert by_uuid[uuid_of("good")]["Verdict"] == "they agree"
    assert [*kept(plan, seen.facts)] == [], "its definition was read for the plan only"


def test_volumes_that_stay_attached_are_named():
    """Only those of instances that are cleaned up: Nova detaches the others itself."""
    devices = tuple(
        BlockDevice(uuid_of(name), "cell1", 1, "volume", "volume", volume=f"volume-of-{name}")
        for name in ("old", "good")
    )
    local = BlockDevice(uuid_of("old"), "cell1", 0, "image", "local")
    facts = replace(facts_of(CLOUD), block_devices=(local, *devices))
    [said] = attached(planned(GhostChoice()), facts)
    assert said.startswith(f"volume volume-of-old of {uuid_of('old')}: it stays attached in Cinder")
    assert f"volume attachment list --all-projects --server-id {uuid_of('old')}'" in said


def test_a_domain_that_is_no_ghost_is_refused():
    chosen = GhostChoice(domains=frozenset({uuid_of("good")}))
    with pytest.raises(NoGhost) as refused:
        refuse_strangers(observed(), chosen, frozenset())
    assert refused.value.domain == uuid_of("good")
    refuse_strangers(observed(), chosen, frozenset({uuid_of("good")}))
    refuse_strangers(observed(), GhostChoice(domains=frozenset({uuid_of("old")})), frozenset())


def _release(name: str) -> str:
    return f"allocations:{uuid_of(name)}"
