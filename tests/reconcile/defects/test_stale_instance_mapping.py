# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import stale_instance_mapping

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 {} VCPU=2 MEMORY_MB=256
cell2 {}
map web {}
"""


def test_the_command_maps_it_to_the_cell_that_has_it():
    words = declined(stale_instance_mapping, CLOUD.format("", "", "none"))
    assert f"map_instances --cell_uuid {uuid_of('cell1')} --reset" in words
    assert "delete its row" not in words
    assert "delete its row" in declined(stale_instance_mapping, CLOUD.format("", "", "cell2"))


@pytest.mark.parametrize(
    ("server", "cell", "mapped"),
    [("", "", "cell1"), ("task=migrating", "", "cell2"), ("deleted=9999", "", "cell2")],
)
def test_nothing_is_said_of_what_is_right_or_moves_or_is_gone(server, cell, mapped):
    assert verdicts(stale_instance_mapping, CLOUD.format(server, cell, mapped)) == []


@pytest.mark.parametrize(("age", "seconds"), [(5, 10), (59, 10), (60, 0), (3600, 0)])
def test_nova_maps_an_instance_right_after_it_made_it(age, seconds):
    facts = facts_of(CLOUD.format("", "", "none"))
    made = tuple(replace(row, created_at=NOW - timedelta(seconds=age)) for row in facts.instances)
    assert found(stale_instance_mapping, replace(facts, instances=made)).may_pass_within == seconds


@pytest.mark.parametrize(("mapped", "words"), [("none", "no cell"), ("cell2", "cell2")])
def test_the_evidence_names_the_cell_that_is_mapped(mapped, words):
    one = found(stale_instance_mapping, CLOUD.format("", "", mapped))
    assert one.where == "h1"
    assert one.evidence["mapped_to"] == words
    assert [row["cell"] for row in one.evidence["rows"]] == ["cell1"]
