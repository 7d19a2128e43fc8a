# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.planning import BROKEN, audited, facts_of, planned
from trueup.reconcile.page.timeline import timeline
from trueup.reconcile.plan import in_reverse
from trueup.reconcile.reasons import because
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import Unreadable, applying, read, runs

PLAN = planned()
OPERATOR = Origin("ann", "controller", "http://placement")
CELLS = facts_of(BROKEN).cells


def test_an_audit_alone_is_the_audit_of_the_page():
    [event] = timeline(audited(BROKEN), CELLS, ()).events
    assert (event.kind, event.run) == ("audit", "")
    assert event.what == "the audit of this page: 3 findings"


def test_a_run_brings_its_plan_and_the_observation_before_it(tmp_path):
    with applying(PLAN, tmp_path, OPERATOR) as journal:
        journal.record(Outcome(PLAN.steps[0].id, "done"))
        journal.record(Outcome(PLAN.steps[1].id, "refused", because("answer", words="it moved")))
    events = timeline(audited(BROKEN), CELLS, runs(tmp_path)).events
    assert [event.kind for event in events] == ["run", "audit", "plan", "audit"]
    run, _, plan, first = events
    assert (run.run, run.what) == (journal.run, "1 done, 1 refused, 1 open, by ann@controller")
    assert plan.what == f"plan {PLAN.id}: 3 steps for 3 findings"
    assert (first.at, plan.at) == (PLAN.first_at, PLAN.made_at)


def test_two_runs_of_a_plan_name_it_once(tmp_path):
    with applying(PLAN, tmp_path, OPERATOR) as journal:
        for step in PLAN.steps:
            journal.record(Outcome(step.id, "done", versions=({},)))
        journal.take_back(PLAN.steps[0].id, "an-undo", ({},))
    with applying(PLAN, tmp_path, OPERATOR):
        pass
    events = timeline(audited(BROKEN), CELLS, runs(tmp_path)).events
    assert [event.kind for event in events].count("plan") == 1
    assert [event.kind for event in events].count("run") == 2


def test_an_undo_names_what_it_takes_back(tmp_path):
    back = in_reverse(PLAN, PLAN.steps, "a-run-1")
    with applying(back, tmp_path, OPERATOR):
        pass
    [undo] = [one for one in timeline(audited(""), CELLS, runs(tmp_path)).events if one.run]
    assert (undo.kind, undo.what) == ("undo", "takes back a-run-1: 3 open, by ann@controller")


def test_what_is_not_known_comes_first_and_is_to_be_resolved(tmp_path):
    with applying(PLAN, tmp_path, OPERATOR) as journal:
        journal.intend(PLAN.steps[0])
    (tmp_path / "damaged.jsonl").write_text("nothing\n")
    found = timeline(audited(BROKEN), CELLS, runs(tmp_path))
    assert found.events[0].kind == "unreadable"
    assert found.events[0].run == "damaged"
    assert found.unresolved == (journal.run,)


def test_runs_of_another_cloud_are_counted_and_not_shown(tmp_path):
    with applying(replace(PLAN, cells=("another",)), tmp_path, OPERATOR) as journal:
        pass
    found = timeline(audited(""), CELLS, [read(journal.run, tmp_path), Unreadable("x", "y")])
    assert found.foreign == 1
    assert journal.run not in {event.run for event in found.events}
