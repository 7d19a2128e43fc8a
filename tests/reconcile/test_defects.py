# SPDX-License-Identifier: Apache-2.0
"""What all defects have in common; what each finds is in tests/scenarios/audits."""

from dataclasses import replace
from functools import cache

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.test_audits import FILES, LINE
from tests.tree import REPOSITORY
from trueup.reconcile.audit import audit
from trueup.reconcile.defects import DEFECTS, OF_WHOLE_CLOUDS, Defect, ask, not_judged
from trueup.reconcile.facts import LIBVIRT, NEUTRON, Coverage, Facts, SourceStatus, Unsupported
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    NotJudged,
    Scope,
    Severity,
    Unchecked,
)

# Scenarios about what all defects leave alone, and about what none of them has a name for.
ABOUT_EVIDENCE = {
    "contradicting-sources", "in-progress", "lagging-cells", "one-machine", "unexplained",
    "whereabouts",
}  # fmt: skip
SCENARIOS = {path.stem: path.read_text().split("\n====\n") for path in FILES}
EVERY = pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.NAME)


@cache
def clouds(untouched: bool = False) -> list[Facts]:
    """The clouds of all scenarios, read once: facts are frozen, and what they derive is kept.

    `untouched`: the same, of which no defect was asked.
    """
    return [facts_of(block.partition(LINE)[0]) for blocks in SCENARIOS.values() for block in blocks]


def findings(defect: Defect, facts: Facts) -> list[Finding]:
    return [one for one in ask(defect, facts, AuditOptions()) if isinstance(one, Finding)]


def test_there_is_a_scenario_file_for_each_defect_and_for_nothing_else():
    assert SCENARIOS.keys() - ABOUT_EVIDENCE == {defect.NAME for defect in DEFECTS}


def test_each_defect_has_its_file_its_test_file_and_its_page_and_there_is_no_other():
    """tests/scenarios has the fourth: the test above says so."""
    places = {
        "src/trueup/reconcile/defects/*.py": lambda stem: stem.replace("_", "-"),
        "tests/reconcile/defects/test_*.py": lambda stem: stem[5:].replace("_", "-"),
        "docs/defects/*.md": lambda stem: stem,
    }
    names = {defect.NAME for defect in DEFECTS}
    for pattern, named in places.items():
        stems = {path.stem for path in REPOSITORY.glob(pattern)} - {"__init__"}
        assert {named(stem) for stem in stems} == names, pattern


@EVERY
def test_its_page_has_the_parts_that_every_page_has(defect):
    page = (REPOSITORY / "docs" / "defects" / f"{defect.NAME}.md").read_text()
    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert headings[:4] == ["Problem", "How it is recognized", "Solution", "Left alone"]


@EVERY
def test_its_scenarios_show_it_found_and_left_alone(defect):
    answers = [block.partition(LINE)[2] for block in SCENARIOS[defect.NAME]]
    assert any(f"finding {defect.NAME} " in answer for answer in answers)
    assert any("step " in answer or "no step for " in answer for answer in answers)
    assert any(f"finding {defect.NAME} " not in answer for answer in answers)


@EVERY
def test_it_says_what_it_is_and_what_is_done_about_it(defect):
    assert defect.NAME.replace("-", "").isalpha()
    for sentence in (defect.TITLE, defect.REMEDY):
        assert sentence[0].isupper()
        assert not sentence.endswith(".")
    # In a list, "it" is nobody.
    assert not defect.TITLE.startswith(("It ", "Its ", "This "))


@EVERY
def test_its_findings_have_the_severities_that_it_names_and_each_occurs(defect):
    found = {one.severity for facts in clouds() for one in findings(defect, facts)}
    assert found == set(defect.SEVERITIES)
    assert list(defect.SEVERITIES) == [one for one in Severity if one in defect.SEVERITIES]


def test_no_two_defects_have_one_name():
    assert len({defect.NAME for defect in DEFECTS}) == len(DEFECTS)


@EVERY
def test_a_finding_names_its_defect_its_subject_and_its_evidence(defect):
    found = [one for facts in clouds() for one in findings(defect, facts)]
    assert found
    for one in found:
        assert one.defect == defect.NAME
        assert one.where
        assert one.evidence


@EVERY
def test_finding_and_remedy_change_nothing_of_the_facts(defect):
    for facts, same in zip(clouds(), clouds(untouched=True), strict=True):
        for one in findings(defect, facts):
            defect.remedy(one, facts)
        assert facts == same


@EVERY
def test_the_remedy_of_a_finding_is_guarded_steps_on_what_it_names_or_declined(defect):
    for facts in clouds():
        for one in findings(defect, facts):
            remedy = defect.remedy(one, facts)
            if isinstance(remedy, Reason):
                assert in_words(remedy)
                continue
            assert remedy
            for step in remedy:
                assert set(step.consumers) <= {one.subject.uuid, *one.consumers}
                assert step.because == (one.id,)
                assert step.guards
                assert all(change.before != change.after for change in step.changes)


@EVERY
def test_a_cloud_in_order_has_nothing_of_it(defect):
    facts = facts_of(
        "cell1\n  host h1 VCPU=8 MEMORY_MB=8192\n  server web on h1 VCPU=1 MEMORY_MB=64\n"
        "  server off state=shelved_offloaded\n  server old on h1 deleted=9999\n"
        "holds web h1 VCPU=1 MEMORY_MB=64\n"
    )
    assert list(defect.find(facts, AuditOptions())) == []


@EVERY
def test_an_empty_cloud_has_nothing_of_it(defect):
    assert list(defect.find(facts_of(""), AuditOptions())) == []


SILENT = SourceStatus("cell9", False, reason="it is down")


@EVERY
def test_what_needs_complete_evidence_is_never_a_finding_while_a_source_is_silent(defect):
    """A defect cannot forget it: whoever asks sees to it."""
    complete = [one for one in clouds() if one.coverage.complete and findings(defect, one)]
    assert complete
    for facts in complete:
        sources = (*facts.coverage.sources, SILENT)
        part = replace(facts, coverage=Coverage(sources))
        if Need.COMPLETE in defect.NEEDS:
            assert not findings(defect, part)
            assert any(isinstance(one, Unchecked) for one in ask(defect, part, AuditOptions()))


LACKS = [(one, need) for one in DEFECTS for need in one.NEEDS if need is not Need.COMPLETE]


@pytest.mark.parametrize(("defect", "need"), LACKS, ids=lambda one: getattr(one, "NAME", one))
def test_what_was_not_read_is_not_judged_and_told(defect, need):
    """As over an API that does not give it, or without the option that asks for it."""
    status = SourceStatus("a source", True, unsupported=(Unsupported(need.value, "it has none"),))
    nothing = replace(facts_of("cell1"), coverage=Coverage((status,)))
    assert defect.NAME in {row.defect for row in not_judged(nothing)}
    assert NotJudged(defect.NAME, need.value) in audit(nothing, AuditOptions()).not_judged


def test_with_everything_every_defect_is_judged():
    sources = tuple(SourceStatus(name, True) for name in ("Placement", NEUTRON, LIBVIRT))
    assert not_judged(replace(facts_of("cell1"), coverage=Coverage(sources))) == ()


def test_what_is_judged_of_a_whole_cloud_is_told_of_a_selection():
    part = replace(facts_of("cell1"), providers_in_scope=frozenset())
    lacking = {row.defect: row.lacks for row in not_judged(part)}
    assert {name for name, lacks in lacking.items() if lacks == Scope.WHOLE_CLOUD} == set(
        OF_WHOLE_CLOUDS
    )
