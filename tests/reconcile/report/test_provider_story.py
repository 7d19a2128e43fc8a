# SPDX-License-Identifier: Apache-2.0
"""The stories of providers and hosts: what they have, who holds of it, and what is wrong there."""

from dataclasses import replace

from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.telling import section, story_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import ComputeService, HostAggregate
from trueup.reconcile.report.provider_story import host_story, provider_story
from trueup.reconcile.verdicts import AuditOptions

CHILD = "provider nic of h1 NET_BW_EGR_KILOBIT_PER_SEC=1000\n"


def test_a_provider_is_told_with_what_is_held_of_it():
    reported = story_of("provider", "h1", BROKEN + CHILD)
    assert reported.name == "h1"
    assert section(reported, "Placement says") == (
        f"h1 is provider {uuid_of('h1')}, generation 1.",
        "Its tree also has nic.",
    )
    assert "VCPU: 8 in all, 0 reserved, ratio 1: a capacity of 8, of which 2 is held." in section(
        reported, "Inventory and usage"
    )
    assert section(reported, "Who holds its resources") == (
        "1 consumer: instances that are deleted.",
    )
    assert section(reported, "Nova says")[0] == "Its root is compute node h1 of host h1 in cell1."
    assert f"orphaned-allocation:{uuid_of('old')}" in reported.findings


def test_a_child_names_its_parent_and_a_pool_whom_it_shares_with():
    nic = story_of("provider", "nic", BROKEN + CHILD)
    assert "It is in the tree of h1." in section(nic, "Placement says")
    pool = story_of("provider", "pool", "cell1\nprovider pool DISK_GB=10 sharing\n")
    assert "It shares its resources with no host." in section(pool, "Placement says")
    assert section(pool, "Who holds its resources") == ("No consumer holds its resources.",)


def test_more_than_there_is_and_what_has_no_inventory_is_said():
    text = "cell1\n  host h1 VCPU=1\nholds zun h1 VCPU=2 DISK_GB=1\n"
    assert section(story_of("provider", "h1", text), "Inventory and usage") == (
        "VCPU: 1 in all, 0 reserved, ratio 1: a capacity of 1, of which 2 is held, "
        "which is more than it has.",
        "DISK_GB: 1 is held, and there is no inventory of it.",
    )


def test_a_host_is_told_with_its_instances_and_what_is_wrong_with_them():
    reported = story_of("host", "h1", BROKEN)
    assert "cell1 has 2 instances on it: 2 active." in section(reported, "Nova says")
    assert section(reported, "Provider h1")
    assert f"missing-allocation:{uuid_of('web')}" in reported.findings
    done = " ".join(section(reported, "What would be done"))
    for number, name in enumerate(("old", "web", "db"), 1):
        mine = done.split(f"{uuid_of(name)}: ")[1].split("For ")[0]
        assert f"Step {number} changes" in mine, "each step stands below the server that it is for"
    assert not reported.incomplete


def test_a_provider_that_is_missing_is_told_by_its_compute_node():
    reported = story_of("provider", "h1", "cell1\n  host h1 without-provider\n")
    assert section(reported, "Placement says") == ("It lists no provider with this uuid.",)
    assert section(reported, "Nova says")[0] == "Its root is compute node h1 of host h1 in cell1."
    assert f"missing-provider:{uuid_of('h1')}" in reported.findings


def test_of_a_host_whose_uuids_clash_the_provider_with_the_name_of_its_node_is_told():
    facts = facts_of("cell1\n  host h1 VCPU=8 uuid=h1-new\nholds web h1 VCPU=1\n")
    facts = replace(
        facts,
        compute_nodes=tuple(replace(row, node="h1.example") for row in facts.compute_nodes),
        providers={u: replace(row, name="h1.example") for u, row in facts.providers.items()},
    )
    reported = host_story("h1", observation(facts, AuditOptions()))
    assert section(reported, "Provider h1.example")
    assert section(reported, "Who holds its resources") == (
        "1 consumer: not known to any cell that answered.",
    )


def test_a_host_without_a_provider_says_why():
    reported = story_of("host", "h1", "cell1\n  host h1 without-provider\n  server web on h1\n")
    said = section(reported, "Nova says")
    assert any(words.startswith("Its provider is not known: ") for words in said)


def test_units_of_an_inventory_are_told_where_they_bind():
    facts = facts_of(BROKEN)
    h1 = facts.providers[uuid_of("h1")]
    vcpu = replace(h1.inventories["VCPU"], min_unit=2, max_unit=4, step_size=2)
    h1 = replace(h1, inventories={**h1.inventories, "VCPU": vcpu})
    changed = replace(facts, providers={**facts.providers, h1.uuid: h1})
    said = section(
        provider_story(h1.uuid, observation(changed, AuditOptions())), "Inventory and usage"
    )
    assert [words for words in said if "takes" in words] == [
        "VCPU: a consumer takes 2 to 4 of it, in steps of 2."
    ]


def test_a_host_is_told_with_its_aggregates_and_deleted_services():
    facts = facts_of(BROKEN)
    [cell] = facts.cells
    aggregate = HostAggregate(uuid_of("az"), "az", ("h1",), {"availability_zone": "north"})
    gone = ComputeService(cell, "h1", forced_down=False, last_seen=None, deleted=True)
    rack = HostAggregate(uuid_of("rack"), "rack", ("h2",))
    changed = replace(facts, host_aggregates=(aggregate, rack), deleted_services=(gone,))
    seen = observation(changed, AuditOptions())
    said = section(host_story("h1", seen), "Nova says")
    assert "It is in host aggregate az (availability_zone=north)." in said
    assert not any("rack" in words for words in said)
    assert "cell1 has a deleted compute service of it." in said
    assert not any("az" in words for words in section(host_story("h2", seen), "Nova says"))
