# SPDX-License-Identifier: Apache-2.0
"""What a finding does to capacity and quotas is what its repair changes, taken the other way."""

from collections import Counter
from dataclasses import replace

from tests.reconcile.planning import BROKEN, audited, facts_of, planned
from tests.scenarios.drafting import OWNER, uuid_of
from trueup.reconcile.facts import Facts, Holding
from trueup.reconcile.report.effects import FindingEffect, effects_of, with_owners
from trueup.reconcile.report.reasons import in_words

MIGRATED = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
  resize of web from h2 confirmed
holds web h1 VCPU=2 MEMORY_MB=256
holds resize-of-web h2 VCPU=2 MEMORY_MB=256
"""

STOLEN = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
holds web h1 VCPU=2 MEMORY_MB=256
owned web project=other-project
"""


def effects(text: str) -> dict[str, FindingEffect]:
    """By the uuid of the subject; the facts do not say who owns what is held."""
    facts = replace(facts_of(text), holdings={})
    found = audited(text).findings
    by_id = effects_of(found, facts)
    return {row.subject.uuid: by_id[row.id] for row in found}


def test_what_a_deleted_instance_holds_is_too_much():
    effect = effects(BROKEN)[uuid_of("old")]
    held = {"VCPU": 2, "MEMORY_MB": 256, "DISK_GB": 6}
    assert [(one.name, one.resources) for one in effect.capacity] == [("h1", held)]
    assert [(one.uuid, one.resources) for one in effect.quota] == [(OWNER["project"], held)]


def test_what_is_held_on_the_wrong_host_is_too_much_there_and_too_little_here():
    effect = effects(BROKEN)[uuid_of("db")]
    assert [one.words for one in effect.capacity] == [
        "h1: VCPU=1 MEMORY_MB=128 too few",
        "h2: VCPU=1 MEMORY_MB=128 too many",
    ]
    assert effect.quota == (), "the project uses as much as is counted"


def test_a_wrong_owner_is_too_much_for_one_project_and_too_little_for_the_other():
    effect = effects(STOLEN)[uuid_of("web")]
    assert effect.capacity == ()
    assert [one.words for one in effect.quota] == [
        "a-project: VCPU=2 MEMORY_MB=256 too few",
        "other-project: VCPU=2 MEMORY_MB=256 too many",
    ]


def test_what_a_migration_holds_counts_for_the_project_of_its_instance():
    effect = effects(MIGRATED)[uuid_of("web")]
    assert [one.uuid for one in effect.quota] == [OWNER["project"]]
    assert effect.quota[0].resources == {"VCPU": 2, "MEMORY_MB": 256}


def test_the_effects_of_all_are_what_the_plan_does_to_hosts_and_projects():
    found: Counter[tuple[str, str]] = Counter()
    for effect in effects(BROKEN).values():
        for one in (*effect.capacity, *effect.quota):
            found.subtract({(one.uuid, name): held for name, held in one.resources.items()})
    done: Counter[tuple[str, str]] = Counter()
    for row in planned().effects:
        for one in row.hosts:
            done[one.provider, one.resource_class] += one.used_after - one.used_before
        for one in row.projects:
            done[one.project, one.resource_class] += one.change
    assert {key: n for key, n in found.items() if n} == {key: n for key, n in done.items() if n}
    assert any(done.values())


def test_a_finding_that_is_not_repaired_says_why():
    [old] = [row for row in audited(BROKEN).findings if row.subject.uuid == uuid_of("old")]
    nothing = {uuid_of("old"): Holding(None, 7)}
    effect = effects_of([old], replace(facts_of(BROKEN), holdings=nothing))[old.id]
    assert effect.steps == effect.capacity == effect.quota == ()
    assert "holds nothing now" in in_words(effect.declined)


def test_what_placement_said_of_an_owner_counts_before_what_nova_says():
    facts: Facts = facts_of(BROKEN)
    found = audited(BROKEN).findings
    reported = {uuid_of("old"): Holding(None, 7)}
    kept = with_owners(replace(facts, holdings=reported), found).holdings
    assert kept[uuid_of("old")] == Holding(None, 7)
    assert kept[uuid_of("db")].allocations.project == OWNER["project"]
