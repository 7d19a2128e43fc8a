# SPDX-License-Identifier: Apache-2.0
"""How stand-ins write: how long they look before, and that each write can be taken back."""

from argparse import Namespace
from typing import Any
from unittest import mock

import pytest

from tests.cli.nova_manage.twins import Twins
from tests.cli.running import trueup
from trueup.cli.nova_manage.job import ADDING_SECONDS, INTERVAL_SECONDS, Job
from trueup.reconcile import changes
from trueup.reconcile.changes import Reply
from trueup.reconcile.runs import pace
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.steps import Change
from trueup.reconcile.verdicts import AuditOptions, Finding, Severity, Subject

pytestmark = pytest.mark.xdist_group("nova-manage")

HEAL = "heal_allocations"


def test_what_was_healed_can_be_taken_back(twins: Twins) -> None:
    one = twins.actives()[0]
    twins.keep_alive()
    twins.hold(one)
    ran = twins.ours(HEAL, "--instance", one.uuid)
    assert (ran.code, ran.out) == (0, "")
    run = ran.err.split("trueup undo ")[1].split()[0]
    undone = trueup("undo", "--nova-conf", twins.cloud.nova_conf, run)
    assert undone.code == 0
    assert one.uuid not in twins.ledger()


def test_a_run_that_was_killed_is_named_by_the_one_that_does_the_rest(twins: Twins) -> None:
    one, other = twins.actives()[:2]
    twins.keep_alive()
    for instance in (one, other):
        twins.hold(instance)
    sent = Placement.send

    def killed(placement: Placement, method: str, path: str, *rest: Any) -> Any:
        if method == "PUT" and other.uuid in path:
            raise KeyboardInterrupt
        return sent(placement, method, path, *rest)

    with (
        mock.patch.object(Placement, "send", killed),
        mock.patch.object(pace, "CREATED_TOGETHER", 1),
    ):
        first = twins.ours(HEAL, "--concurrency", "1")
    run = first.err.split("trueup undo ")[1].split()[0]
    second = twins.ours(HEAL)
    assert second.code == 0, second.err
    assert f"Run {run} was interrupted before; this one does the rest." in second.err
    assert second.err.count("To take it back: trueup undo ") == 2


def test_what_is_left_after_the_write_is_told(twins: Twins) -> None:
    """As where a write does not change what the audit compares."""
    one = twins.actives()[0]
    twins.keep_alive()
    twins.hold(one)

    def unwritten(change: Change, *_: Any) -> Reply:
        return Reply(True, version=change.version)

    with mock.patch.object(changes, "write", unwritten):
        ran = twins.ours(HEAL, "--instance", one.uuid)
    assert ran.code == 3
    assert f"Failed to update allocations for consumer {one.uuid}. Error: it was written" in ran.out
    assert f"Found again after the write: missing-allocation:{one.uuid}. See: " in ran.err


def finding(defect: str) -> Finding:
    return Finding(defect, Subject("instance", "one"), "host", Severity.HIGH, {})


@pytest.mark.parametrize(
    ("defects", "seconds"),
    [
        (["missing-allocation", "wrong-owner"], ADDING_SECONDS),
        (["missing-allocation", "wrong-amount"], INTERVAL_SECONDS),
        (["wrong-provider"], INTERVAL_SECONDS),
    ],
)
def test_before_something_is_released_it_looks_longer(defects, seconds) -> None:
    def between(interval: float | None, writes: bool) -> float:
        job = Job(mock.Mock(), AuditOptions(), Namespace(interval=interval))
        return job.seconds_between([finding(one) for one in defects], writes)

    assert between(None, writes=True) == seconds
    assert between(7.0, writes=True) == 7
    assert between(None, writes=False) == ADDING_SECONDS


@pytest.mark.parametrize("verbose", [False, True])
def test_novas_lines_go_to_stdout_and_notes_to_stderr(capsys, verbose) -> None:
    job = Job(mock.Mock(), AuditOptions(), Namespace(verbose=verbose))
    job.tell("Processed 0 instances.")
    job.tell("Compute host x could not be found.", always=True)
    job.note("it differs.")
    printed = capsys.readouterr()
    lines = ["Processed 0 instances.", "Compute host x could not be found."]
    assert printed.out.splitlines() == (lines if verbose else lines[1:])
    assert printed.err == "Note: it differs.\n"
