# SPDX-License-Identifier: Apache-2.0
"""From what an operator types to one subject: by name or uuid, and never to the wrong one."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.collect.selection import SelectionUnknown
from trueup.reconcile.facts import LedgerFault
from trueup.reconcile.report import story_subjects
from trueup.reconcile.report.story_subjects import SubjectAmbiguous


@pytest.mark.parametrize(
    ("kind", "name"), [("instance", "web"), ("instance", "old"), ("provider", "h1")]
)
def test_a_name_and_a_uuid_lead_to_the_same(kind, name):
    facts = facts_of(BROKEN)
    assert story_subjects.uuid_of(kind, name, facts) == uuid_of(name)
    assert story_subjects.uuid_of(kind, uuid_of(name), facts) == uuid_of(name)


def test_a_host_goes_by_its_name_and_a_consumer_by_its_uuid():
    facts = facts_of(BROKEN)
    assert story_subjects.uuid_of("host", "h1", facts) == "h1"
    assert story_subjects.uuid_of("consumer", uuid_of("db"), facts) == uuid_of("db")


def test_a_host_may_be_named_by_its_node():
    facts = facts_of(BROKEN)
    nodes = tuple(replace(row, node=f"{row.host}.example") for row in facts.compute_nodes)
    assert story_subjects.uuid_of("host", "h2.example", replace(facts, compute_nodes=nodes)) == "h2"


def test_a_provider_that_placement_does_not_list_goes_by_its_compute_node_or_its_rows():
    facts = facts_of("cell1\n  host h1 without-provider\n")
    for name in ("h1", uuid_of("h1")):
        assert story_subjects.uuid_of("provider", name, facts) == uuid_of("h1")
    rows = replace(facts, ledger_faults=(LedgerFault("dangling", "inventories 7", "7 rows"),))
    assert story_subjects.uuid_of("provider", "inventories 7", rows) == "inventories 7"


@pytest.mark.parametrize("kind", story_subjects.KINDS)
def test_what_nothing_knows_is_refused(kind):
    with pytest.raises(SelectionUnknown) as refused:
        story_subjects.uuid_of(kind, "nobody", facts_of(BROKEN))
    assert (refused.value.kind, refused.value.name) == (kind, "nobody")


def test_several_with_one_name_are_told_apart_and_the_living_count_first():
    facts = facts_of(BROKEN)
    [web] = [row for row in facts.instances if row.name == "web"]
    twin = replace(web, uuid=uuid_of("twin"), host="h2")
    with pytest.raises(SubjectAmbiguous) as refused:
        story_subjects.uuid_of("instance", "web", replace(facts, instances=(web, twin)))
    assert len(refused.value.candidates) == 2
    assert any(twin.uuid in words and "h2" in words for words in refused.value.candidates)
    gone = replace(facts, instances=(web, replace(twin, deleted=True)))
    assert story_subjects.uuid_of("instance", "web", gone) == web.uuid
