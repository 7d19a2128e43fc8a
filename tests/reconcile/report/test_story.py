# SPDX-License-Identifier: Apache-2.0
"""What every story ends with: who is right, what would be done, and what is waited for."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.showing import said
from tests.reconcile.report.telling import section, story_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import Holding
from trueup.reconcile.report.story_subjects import story
from trueup.reconcile.verdicts import AuditOptions

OLD = uuid_of("old")


def test_a_muted_finding_is_told_with_its_end():
    muted = said("finding", f"orphaned-allocation:{OLD}")
    seen = observation(facts_of(BROKEN), AuditOptions(acknowledgements=(muted,)))
    reported = section(story("consumer", OLD, seen), "Judgement")
    assert f"It is muted until {muted.until.isoformat()}: ticket 4711." in reported


def test_why_there_is_no_step_is_told():
    facts = replace(facts_of(BROKEN), holdings={OLD: Holding(None, 7)})
    reported = section(
        story("consumer", OLD, observation(facts, AuditOptions())), "What would be done"
    )
    assert reported == (
        f"No step is proposed for orphaned-allocation:{OLD}: it holds nothing now.",
    )


def test_a_section_without_a_sentence_is_left_out():
    seen = observation(facts_of(BROKEN), AuditOptions())
    assert all(one.sentences for one in story("consumer", OLD, seen).sections)


@pytest.mark.parametrize("kept", ["managed-save", "snapshots=1"])
def test_no_release_is_promised_that_a_plan_declines(kept):
    """Whether the domain can be removed is known when a plan reads its definition."""
    text = f"""cell1
  host h1 VCPU=8 MEMORY_MB=8192 up
  server web on h1 deleted=90000 VCPU=2 MEMORY_MB=256
guest web on h1 shut off {kept}
holds web h1 VCPU=2 MEMORY_MB=256
"""
    told = section(story_of("instance", "web", text), "What would be done")
    assert not any("makes this plan" in one or one.startswith("Step ") for one in told)
    [why] = [one for one in told if one.startswith("No step is proposed for orphaned-allocation")]
    assert "its domain stays defined on h1" in why
    assert "'trueup plan --libvirt'" in why
