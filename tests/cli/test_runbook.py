# SPDX-License-Identifier: Apache-2.0
"""What every runbook's command does with its options, and with a run that was interrupted."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.cli.commands.emptying import DEVICE_TRAITS, child, dead_host, providers
from tests.cli.on_terminal import at_a_terminal
from tests.cli.running import trueup
from tests.clouds.nova_services import NovaServices
from trueup.reconcile import changes
from trueup.reconcile.clock import now
from trueup.reconcile.plan import CELL_ZERO
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.runs.journal import Origin, Outcome
from trueup.reconcile.runs.journals import applying, read, runs


@pytest.mark.parametrize(
    "words",
    [
        ("--yes",),
        ("--limit", 3),
        ("--send-to", "file:/no/folder/sent"),
        ("--sign-with", "/no/key"),
    ],
)
def test_options_of_writing_need_apply(site_on, words):
    site_on("trueup")
    ran = trueup("retire", "compute-01", *words)
    assert ran.code == 2
    assert "nothing is written without --apply" in ran.err


@pytest.mark.parametrize(
    "words", [("--interval", 0), ("--out", "/dev/null"), ("--limit", -1, "--apply"), ("-c", "No")]
)
def test_bad_input_is_refused_before_any_work(site_on, words):
    site_on("trueup")
    ran = trueup("retire", "compute-01", *words)
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize(("typed", "written"), [("y\n", True), ("\n", False)])
def test_at_a_terminal_it_asks_once(site_on, typed, written):
    site = site_on("trueup")
    host = dead_host(site)
    words = ("retire", host.name, "--interval", 0.01, "--apply")
    code, shown = at_a_terminal(*words, typed=typed)
    assert (code == 0) is written, shown
    assert "cannot be taken back" in shown
    assert (host.provider in providers(site)) is not written


def interrupted(site, tmp_path, state) -> str:
    """A run of which the first step was written, and its result was not noted; its host."""
    host, path = dead_host(site), tmp_path / "plan.json"
    child(site, host.provider, f"{host.node}_0000:81:00.0", *DEVICE_TRAITS)
    assert trueup("retire", host.name, "--interval", 0.01, "--out", path).code == 3
    plan = load(path)
    with applying(plan, state, Origin("operator", "controller")) as journal:
        journal.intend(plan.steps[0])
        [change] = plan.steps[0].changes
        assert changes.write(change, site.cloud).accepted
    return host.name


def test_the_same_command_goes_on_with_a_run_that_was_interrupted(site_on, tmp_path, state):
    host = interrupted(site_on("trueup"), tmp_path, state)
    ran = trueup("retire", host, "--interval", 0.01, "--apply")
    assert ran.code == 0, ran.out + ran.err
    assert "was interrupted with 3 steps left: continuing it." in ran.err
    assert len(runs(state)) == 1


def test_a_run_that_deleted_the_service_before_it_was_interrupted_promises_no_undo(
    site_on, tmp_path, state
):
    """Every step of that undo would be refused."""
    site = site_on("trueup")
    host, path = dead_host(site), tmp_path / "plan.json"
    assert trueup("retire", host.name, "--interval", 0.01, "--out", path).code == 3
    with applying(load(path), state, Origin("operator", "controller")) as journal:
        *released, last = journal.plan.steps
        for step in released:
            journal.intend(step)
            [change] = step.changes
            assert changes.write(change, site.cloud).accepted
            journal.record(Outcome(step.id, "done", versions=(changes.version_after(change),)))
        journal.intend(last)
        assert changes.write(last.changes[0], site.cloud).accepted
    ran = trueup("retire", host.name, "--interval", 0.01, "--apply", "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert "continuing it" in ran.err
    assert "trueup undo" not in ran.err
    assert "It cannot be taken back: Nova cannot make a compute service" in ran.err
    assert ran.json()["permanent"].startswith("Nova cannot make a compute service")


@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_a_damaged_journal_of_the_run_to_go_on_with_is_refused(site_on, tmp_path, state, words):
    """SAFETY: what its run has begun may still be written."""
    site = site_on("trueup")
    host = interrupted(site, tmp_path, state)
    [path] = state.glob("*.jsonl")
    content, before = path.read_bytes(), site.rows()
    path.write_bytes(content + b"garbage\n")
    ran = trueup("retire", host, "--interval", 0.01, *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"line 3 of {path} is damaged" in ran.err
    assert site.rows() == before
    path.write_bytes(content)
    assert trueup("retire", host, "--interval", 0.01, "--apply").code == 0


def test_a_damaged_journal_of_a_run_before_the_last_is_passed_over(site_on, tmp_path, state):
    host = interrupted(site_on("trueup"), tmp_path, state)
    [path] = state.glob("*.jsonl")
    damaged, content = path.with_stem("20000101T000000-damaged-1"), path.read_bytes()
    assert trueup("retire", host, "--interval", 0.01, "--apply").code == 0
    damaged.write_bytes(content.splitlines(keepends=True)[0] + b"garbage\n")
    later = path.read_bytes()
    path.unlink()
    assert trueup("retire", host, "--interval", 0.01).code == 2
    path.write_bytes(later)
    assert trueup("retire", host, "--interval", 0.01).code == 0


def test_an_old_run_is_resolved_and_a_new_one_begins(site_on, tmp_path, state, monkeypatch):
    host = interrupted(site_on("trueup"), tmp_path, state)
    later = now() + timedelta(hours=2)
    monkeypatch.setattr("trueup.cli.runbook.now", lambda: later)
    ran = trueup("retire", host, "--interval", 0.01, "--apply")
    assert ran.code == 0, ran.out + ran.err
    assert "its plan is older than 1 h, so a new one is made" in ran.err
    first, _ = runs(state)
    assert f"In place of run {first.run}: 1 step. To take that back too" in ran.err
    assert first.is_done(first.plan.steps[0].id)


def test_an_old_run_that_ended_after_the_service_was_deleted_is_completed(
    site_on, tmp_path, state, monkeypatch
):
    """Nova left the provider, and nothing takes the deletion of a service back."""
    site = site_on("trueup")
    host, path = dead_host(site), tmp_path / "plan.json"
    assert trueup("retire", host.name, "--interval", 0.01, "--out", path).code == 3
    monkeypatch.setattr(NovaServices, "_delete_tree", lambda services, root: True)
    with applying(load(path), state, Origin("operator", "controller")) as journal:
        *released, last = journal.plan.steps
        for step in released:
            journal.intend(step)
            [change] = step.changes
            assert changes.write(change, site.cloud).accepted
            journal.record(Outcome(step.id, "done", versions=(changes.version_after(change),)))
        journal.intend(last)
        assert changes.write(last.changes[0], site.cloud).accepted
    later = now() + timedelta(hours=2)
    monkeypatch.setattr("trueup.cli.runbook.now", lambda: later)
    ran = trueup("retire", host.name, "--interval", 0.01, "--apply")
    assert ran.code == 0, ran.out + ran.err
    assert host.provider not in providers(site)


def test_a_run_of_another_cloud_is_left_alone(site_on, tmp_path, state):
    """A host of that cloud has the same name, and its run was interrupted."""
    host, path = dead_host(site_on("trueup")), tmp_path / "plan.json"
    assert trueup("retire", host.name, "--interval", 0.01, "--out", path).code == 3
    plan = replace(load(path), cells=(CELL_ZERO, "a-cell-of-another-cloud"))
    with applying(plan, state, Origin("operator", "controller")) as journal:
        journal.intend(plan.steps[0])
    ran = trueup("retire", host.name, "--interval", 0.01, "--apply")
    assert ran.code == 0, ran.out + ran.err
    assert journal.run not in ran.err
    assert read(journal.run, state).fate_open(plan.steps[0]), "nothing is noted there"


@pytest.mark.parametrize("words", [(), ("-f", "json")])
def test_while_a_write_of_an_earlier_run_may_still_come_nothing_new_is_planned(
    site_on, tmp_path, state, monkeypatch, words
):
    site = site_on("trueup")
    host, path = dead_host(site), tmp_path / "plan.json"
    assert trueup("retire", host.name, "--interval", 0.01, "--out", path).code == 3
    [step, *_] = load(path).steps
    with applying(load(path), state, Origin("operator", "controller")) as journal:
        journal.intend(step)
    later = now() + timedelta(hours=2)
    monkeypatch.setattr("trueup.cli.runbook.now", lambda: later)
    ran = trueup("retire", host.name, "--interval", 0.01, "--apply", *words)
    assert ran.code == 4, ran.out + ran.err
    assert f"Step {step.id} was about to be written when run {journal.run} ended." in ran.err
    assert "give the same command again in two minutes" in ran.err
    assert "unknown" in ran.out
    assert len(runs(state)) == 1
    monkeypatch.setattr("trueup.reconcile.runs.apply.LATE", timedelta())
    ran = trueup("retire", host.name, "--interval", 0.01, "--apply", *words)
    assert ran.code == 0, ran.out + ran.err
