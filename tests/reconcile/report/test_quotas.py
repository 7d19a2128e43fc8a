# SPDX-License-Identifier: Apache-2.0
"""Whose quota is wrong, and by how much."""

from dataclasses import replace

from tests.reconcile.planning import audited, facts_of
from tests.scenarios.drafting import OWNER
from trueup.reconcile.facts import Limits, QuotaRules, Quotas
from trueup.reconcile.report.quotas import Note, QuotaRow, quota_rows, telling, unregistered

# One server is right, one holds nothing, one is deleted and holds; one waits for confirmation and
# holds twice; a stranger holds something too.
CLOUD = """
cell1
  host h1 VCPU=16 MEMORY_MB=16384 DISK_GB=100
  host h2 VCPU=16 MEMORY_MB=16384 DISK_GB=100
  server right on h1 VCPU=1 MEMORY_MB=128
  server bare on h1 VCPU=2 MEMORY_MB=256
  server old on h1 deleted=3600
  server moved on h1 resized VCPU=3 MEMORY_MB=512
  resize of moved from h2 finished
holds right h1 VCPU=1 MEMORY_MB=128
holds old h1 VCPU=4 MEMORY_MB=1024
holds moved h1 VCPU=3 MEMORY_MB=512
holds resize-of-moved h2 VCPU=3 MEMORY_MB=512
holds stranger h2 VCPU=5 MEMORY_MB=64
"""
PROJECT = OWNER["project"]
OWN = Limits({"instances": 10, "cores": 6, "ram": -1})


def rows(quotas: Quotas, text: str = CLOUD, **given: object) -> dict[str, QuotaRow]:
    facts = facts_of(text)
    found = quota_rows(facts, audited(text).findings, quotas, **given)
    return {row.resource: row for row in found if row.project == PROJECT}


def test_the_cells_the_ledger_strangers_and_a_repair_side_by_side():
    cores = rows(Quotas(QuotaRules(), OWN))["cores"]
    assert (cores.limit, cores.nova, cores.placement) == (6, 6, 16)
    assert (cores.phantom, cores.missing, cores.repaired) == (4, 2, 14)
    assert cores.strangers == 9, "the deleted server and the stranger"


def test_of_a_project_that_has_nothing_no_instance_holds_nothing():
    [row, *_] = quota_rows(facts_of(CLOUD), (), Quotas(QuotaRules(), OWN), projects={"other"})
    assert (row.project, row.placement, row.strangers) == ("other", 0, 0)


def test_what_is_over_the_limit_depends_on_what_nova_counts():
    by_cells = rows(Quotas(QuotaRules(), OWN))
    assert by_cells["cores"].notes == (Note.OVER_IF_FROM_PLACEMENT,)
    assert by_cells["ram"].notes == (), "below 0 is unlimited"
    by_placement = rows(Quotas(QuotaRules(from_placement=True), OWN))
    assert by_placement["cores"].notes == (Note.OVER,)
    missing = """
cell1
  host h1 VCPU=16 MEMORY_MB=16384
  server bare on h1 VCPU=2 MEMORY_MB=256
"""
    few = Quotas(QuotaRules(from_placement=True), Limits({"cores": 1}))
    assert rows(few, missing)["cores"].notes == (Note.OVER_AFTER_REPAIR,)


def test_unified_limits_count_each_class_and_refuse_those_that_are_not_registered():
    unified = Limits({"servers": 2, "class:VCPU": 100}, {PROJECT: {"class:VCPU": 15}})
    rules = QuotaRules(unified=True, listed=frozenset({"servers", "class:MEMORY_MB"}))
    quotas = Quotas(rules, OWN, unified)
    found = rows(quotas)
    assert found.keys() == {"servers", "class:VCPU", "class:MEMORY_MB"}
    assert found["class:VCPU"].notes == (Note.OVER,)
    assert found["class:VCPU"].nova == 1 + 2 + 3 + 3, "what instances should hold"
    assert found["class:MEMORY_MB"].notes == (Note.REFUSED,)
    assert unregistered(found.values(), quotas) == ("class:MEMORY_MB",)


def test_before_a_switch_only_the_unified_limits_that_would_be_exceeded_are_told():
    quotas = Quotas(QuotaRules(), OWN, Limits({"servers": 100, "class:VCPU": 15}))
    shown = [row for row in rows(quotas).values() if telling(row, quotas)]
    assert [row.resource for row in shown if row.notes == (Note.OVER_IF_UNIFIED,)] == ["class:VCPU"]
    assert "servers" not in [row.resource for row in shown]


def test_zero_of_a_class_is_a_limit_and_a_project_that_is_gone_is_not_told():
    limits = Limits(
        {"class:CUSTOM_X": -1, "class:VCPU": 99, "class:MEMORY_MB": 9999, "servers": 9},
        {PROJECT: {"class:VCPU": 0, "class:CUSTOM_X": 0}, "gone": {"class:VCPU": 3}},
    )
    quotas = Quotas(QuotaRules(unified=True), OWN, limits)
    found = rows(quotas)
    assert found["class:VCPU"].notes == (Note.OVER,)
    assert found["class:CUSTOM_X"].notes == (), "nothing is used"
    facts = facts_of(CLOUD)
    gone = [row for row in quota_rows(facts, (), quotas) if row.project == "gone"]
    assert {(row.nova, row.placement) for row in gone} == {(0, 0)}
    assert not any(telling(row, quotas) for row in gone)


def test_dedicated_processors_may_count_as_others():
    text = """
cell1
  host h1 VCPU=4 PCPU=4 MEMORY_MB=1024
holds stranger h1 VCPU=1 PCPU=2
"""
    limits = Limits({"class:VCPU": 2})
    apart = rows(Quotas(QuotaRules(unified=True), OWN, limits), text)
    assert (apart["class:VCPU"].placement, apart["class:PCPU"].placement) == (1, 2)
    both = QuotaRules(unified=True, dedicated_too=True)
    assert rows(Quotas(both, OWN, limits), text)["class:VCPU"].placement == 3


def test_without_owners_placement_says_what_each_project_uses():
    quotas = Quotas(QuotaRules(), OWN)
    found = rows(quotas, usages={PROJECT: {"VCPU": 3, "PCPU": 1}}, projects={PROJECT})
    assert (found["cores"].placement, found["cores"].strangers) == (4, None)


def test_hidden_and_soft_deleted_servers_count_for_no_quota_of_novas():
    facts = facts_of(CLOUD)
    changed = {"right": {"hidden": True}, "bare": {"vm_state": "soft-delete"}}
    instances = tuple(replace(row, **changed.get(row.name, {})) for row in facts.instances)
    found = quota_rows(replace(facts, instances=instances), (), Quotas(QuotaRules(), OWN))
    by_resource = {row.resource: row.nova for row in found if row.project == PROJECT}
    assert (by_resource["instances"], by_resource["cores"]) == (1, 3)
