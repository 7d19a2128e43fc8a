# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import declined, reason, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import host_mapping_missing
from trueup.reconcile.facts import HostMapping, SourceStatus, Unsupported
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import Unchecked

CLOUD = "cell1\n  host h1 VCPU=8 {}\ncell2\n  host h2 VCPU=8\n{}\n"


def test_the_commands_name_the_cells():
    discover = f"discover_hosts --by-service --cell_uuid {uuid_of('cell1')}"
    assert discover in declined(host_mapping_missing, CLOUD.format("", "unmapped h1"))
    wrong = declined(host_mapping_missing, CLOUD.format("", "host-map h1 cell2"))
    delete = f"delete_host --cell_uuid {uuid_of('cell2')} --host h1"
    assert wrong.index(delete) < wrong.index(discover), "the old mapping goes first"
    other = f"discover_hosts --by-service --cell_uuid {uuid_of('cell2')}"
    assert other in declined(host_mapping_missing, CLOUD.format("", "unmapped h2"))


def test_a_mapping_to_no_cell_is_deleted_by_hand():
    facts = replace(facts_of(CLOUD.format("", "")), host_mappings=(HostMapping("h1", ""),))
    [finding, *_] = verdicts(host_mapping_missing, facts)
    assert finding.evidence["mapped_to"] == "a cell that does not exist"
    reason = in_words(host_mapping_missing.remedy(finding, facts))
    assert "delete that row" in reason
    assert "delete_host" not in reason


@pytest.mark.parametrize("cell", ["cell1", "cell2"])
def test_a_mapping_in_other_letters_may_be_found_by_nova(cell):
    """Mapped to another cell, it may be the twin of that cell's host: nothing is to discover."""
    facts = replace(
        facts_of(CLOUD.format("", "")),
        host_mappings=(HostMapping("H1", uuid_of(cell)), HostMapping("h2", uuid_of("cell2"))),
    )
    [unchecked] = verdicts(host_mapping_missing, facts)
    assert isinstance(unchecked, Unchecked)
    assert f"mapped as H1 to {cell}" in in_words(unchecked.reason)


def test_a_host_that_was_just_made_is_left_to_discover_hosts():
    assert "20 s ago" in reason(host_mapping_missing, CLOUD.format("made=20", "unmapped h1"))


def test_nova_s_api_shows_no_mappings_so_nothing_is_concluded():
    facts = facts_of(CLOUD.format("", "unmapped h1"))
    of_api = SourceStatus("Nova", True, unsupported=(Unsupported("host mappings", "no API"),))
    hidden = replace(facts.coverage, sources=(*facts.coverage.sources, of_api))
    assert verdicts(host_mapping_missing, replace(facts, coverage=hidden)) == []
