# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.rules.freshness import with_freshness
from trueup.reconcile.rules.nodes import (
    Former,
    Namesake,
    Stranger,
    is_up,
    judged_hosts,
    judged_nodes,
    judged_roots,
    newly_made,
    without_node,
)
from trueup.reconcile.verdicts import AuditOptions


def test_nodes_of_a_cell_that_may_be_behind_are_not_judged():
    facts = facts_of("cell1\n  host h1 VCPU=8\ncell2 last-report=1200\n  host h2 VCPU=8\n")
    judged = with_freshness(facts, AuditOptions())
    assert [node.host for node in judged_nodes(judged)] == ["h1"]


def test_of_a_selection_only_the_places_that_were_selected_are_judged():
    facts = facts_of("cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nprovider pool DISK_GB=1 sharing\n")
    narrow = replace(facts, providers_in_scope=frozenset({uuid_of("h2")}))
    assert [node.host for node, _ in judged_hosts(narrow)] == ["h2"]
    assert [root.name for root in judged_roots(narrow)] == ["h2"]
    assert [root.name for root in judged_roots(facts)] == ["h1", "h2"]


def test_two_nodes_with_one_uuid_have_no_provider_of_their_own():
    facts = facts_of("cell1\n  host h1 VCPU=8\n  host h2 without-provider uuid=h1\n")
    assert list(judged_hosts(facts)) == []


def test_a_provider_with_the_root_of_another_host_is_not_judged():
    hosts = "cell1\n  host h1 VCPU=8 without-provider\n  host h2 VCPU=8\n"
    facts = facts_of(f"{hosts}provider h1 root=h2 VCPU=8\n")
    assert [node.host for node, _ in judged_hosts(facts)] == ["h2"]
    assert [root.name for root in judged_roots(facts)] == ["h2"]


@pytest.mark.parametrize(("made", "grace", "new"), [(20, 600, True), (700, 600, False)])
def test_a_node_that_was_made_within_the_grace_is_new(made, grace, new):
    facts = facts_of(f"cell1\n  host h1 VCPU=8 made={made}\n")
    [node] = facts.compute_nodes
    assert bool(newly_made(node, facts, AuditOptions(grace_seconds=grace))) is new


def test_a_node_of_which_it_is_not_known_when_it_was_made_is_not_new():
    facts = facts_of("cell1\n  host h1 VCPU=8\n")
    assert newly_made(facts.compute_nodes[0], facts, AuditOptions()) is None


@pytest.mark.parametrize(("word", "up"), [("up", True), ("", False)])
def test_a_node_is_up_with_the_service_of_its_host(word, up):
    facts = facts_of(f"cell1\n  host h1 VCPU=8 {word}\n")
    assert is_up(facts.compute_nodes[0], facts) is up


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", type(None)),
        ("forget h1", Former),
        ("forget h1\nprovider h1 VCPU=8 traits=OWNER_NOVA", Former),
    ],
)
def test_what_a_root_provider_stands_for(text, kind):
    facts = facts_of(f"cell1\n  host h1 VCPU=8\n{text}\n")
    assert type(without_node(facts.providers[uuid_of("h1")], facts)) is kind


@pytest.mark.parametrize(("traits", "of_nova"), [("OWNER_NOVA", True), ("CUSTOM_ZUN", False)])
def test_a_provider_that_no_cell_has_ever_had_is_a_stranger(traits, of_nova):
    facts = facts_of(f"cell1\n  host h1 VCPU=8\nprovider other VCPU=8 traits={traits}\n")
    assert without_node(facts.providers[uuid_of("other")], facts) == Stranger(of_nova)


def test_the_nodes_that_a_renamed_host_has_now_are_told():
    facts = facts_of("cell1\n  host h1 VCPU=8\nprovider h1b VCPU=8\nrename h1 h1b\n")
    former = without_node(facts.providers[uuid_of("h1")], facts)
    assert isinstance(former, Former)
    assert [node.node for node in former.now] == ["h1b"]


@pytest.mark.parametrize("own", [False, True])
def test_a_provider_with_the_name_of_a_living_node_is_told_with_that_nodes_own(own):
    second = "provider h1-new VCPU=8" if own else ""
    facts = facts_of(
        f"cell1\n  host h1 uuid=h1-new without-provider\nprovider h1 VCPU=8\n{second}\n"
    )
    found = without_node(facts.providers[uuid_of("h1")], facts)
    assert isinstance(found, Namesake)
    assert found.node.uuid == uuid_of("h1-new")
    assert found.own == facts.providers.get(uuid_of("h1-new"))


def test_a_deleted_node_proves_more_than_a_name_that_another_node_has_now():
    facts = facts_of("cell1\n  host h1 VCPU=8\nprovider h1-new VCPU=8\nrename h1 h1 h1-new\n")
    assert isinstance(without_node(facts.providers[uuid_of("h1")], facts), Former)
    assert without_node(facts.providers[uuid_of("h1-new")], facts) is None


def test_hosts_that_have_each_others_provider_by_name_are_not_judged():
    text = (
        "cell1\n  host h1 uuid=h2 without-provider\n  host h2 uuid=h1 without-provider\n"
        "  host h3 VCPU=8\nprovider h1 VCPU=8\nprovider h2 VCPU=8\n"
    )
    assert [node.host for node, _ in judged_hosts(facts_of(text))] == ["h3"]
