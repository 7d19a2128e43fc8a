# SPDX-License-Identifier: Apache-2.0
"""What every story ends with: who is right, what would be done, and what is waited for."""

from dataclasses import replace

from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.showing import said
from tests.reconcile.report.telling import section
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
