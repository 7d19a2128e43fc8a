# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.page.paging import CLASH, page_about, page_about_facts
from tests.reconcile.planning import BROKEN, facts_of, planned
from tests.reconcile.report.showing import MIXED, said
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.facts import Coverage, Unsupported
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying, runs

RIGHT = "cell1\n  host h1 VCPU=8\n"
TWO_OF_A_NAME = "cell1\n  host h1 VCPU=8 uuid=another\ncell2\n  host h1 VCPU=8\n"
WITHOUT_ALLOCATION = "cell2\n  host h2 VCPU=8 MEMORY_MB=64\n  server db on h2 VCPU=2 MEMORY_MB=2\n"


def test_an_all_clear_is_given_only_when_everything_answered():
    assert page_about(RIGHT).headline.tone == "clean"
    silent = page_about(f"{RIGHT}cell2 silent\n").headline
    assert silent.tone == "incomplete"
    assert silent.words == "The evidence is incomplete: 0 findings, and there may be more"
    assert silent.remarks[0] == "cell2 did not answer."


def test_an_all_clear_is_of_the_ledger_and_says_what_hangs():
    """A cloud with a dead host and tasks that cannot end is not called one in which all is well."""
    text = f"{RIGHT}  server web on h1 task=powering-off changed=1200\n"
    headline = page_about(text).headline
    assert headline.words == ("No drift found. 1 left alone; 1 of them cannot end by themselves")


def test_an_all_clear_names_what_a_source_does_not_have():
    facts = facts_of(RIGHT)
    answered, *others = facts.coverage.sources
    partly = replace(answered, unsupported=(Unsupported("list of its ports", "too old"),))
    headline = page_about_facts(replace(facts, coverage=Coverage((partly, *others)))).headline
    assert headline.remarks == ("Placement has no list of its ports: see Coverage.",)


def test_findings_are_counted_by_severity_and_muted_ones_apart():
    page = page_about(BROKEN, said("finding", f"orphaned-allocation:{uuid_of('old')}"))
    assert (page.headline.tone, page.headline.words) == ("findings", "2 findings")
    assert page.headline.remarks == ("1 finding more, muted by an operator.",)
    assert [(one.severity, one.count) for one in page.severities] == [("high", 2)]


def test_each_source_is_answered_partly_behind_or_silent():
    facts = facts_of("cell1\n  host h1 VCPU=8\ncell2 silent\ncell3 last-report=1200\n  host h3\n")
    answered, *others = facts.coverage.sources
    partly = replace(answered, unsupported=(Unsupported("its ports", "too old"),))
    page = page_about_facts(replace(facts, coverage=Coverage((partly, *others))))
    found = {row.source: (row.state, dict(row.gaps)) for row in page.coverage}
    assert found["Placement"] == ("partly", {"its ports": "too old"})
    assert found["cell1"] == ("answered", {})
    assert found["cell2"] == ("silent", {"everything": "it is down"})
    state, gaps = found["cell3"]
    assert (state, gaps.keys()) == ("behind", {"behind"})
    assert "cell2" in page.headline.remarks[0]
    assert "cell3" in page.headline.remarks[0]


def test_the_next_command_is_to_plan_when_there_are_findings():
    assert page_about(RIGHT).next == ()
    assert page_about(BROKEN).next[0].words == "trueup plan --out plan.json"
    assert page_about(MIXED).next[0].purpose == "audit again when cell2 answers"


def test_what_no_plan_repairs_leads_to_the_command_that_does():
    assert [one.words for one in page_about(CLASH).next] == ["trueup rekey h1"]
    both = [one.words for one in page_about(f"{CLASH}{WITHOUT_ALLOCATION}").next]
    assert both.index("trueup apply plan.json") < both.index("trueup rekey h1")


def test_what_no_command_repairs_leads_to_what_is_known_of_its_defect():
    assert [one.words for one in page_about(TWO_OF_A_NAME).next] == [
        "trueup defects provider-identity-clash",
        "trueup defects host-mapping-missing",
    ]


def test_a_run_whose_fate_is_open_comes_before_everything_else(tmp_path):
    plan = planned()
    with applying(plan, tmp_path, Origin()) as journal:
        journal.intend(plan.steps[0])
    page = page_about(BROKEN, journals=runs(tmp_path))
    assert page.next[0].words == f"trueup journal {journal.run}"


def test_what_could_not_be_checked_and_what_is_left_alone_is_listed_by_reason():
    page = page_about(MIXED)
    assert any(f"instance {uuid_of('lost')}" in one for g in page.unchecked for one in g.subjects)
    [busy] = [group for group in page.left_alone if "task state" in group.reason]
    assert busy.subjects == (f"instance {uuid_of('busy')} on h1",)
