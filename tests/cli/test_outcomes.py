# SPDX-License-Identifier: Apache-2.0
"""However a run ends, its steps and its name are reported."""

import argparse

import pytest

from tests.reconcile.planning import planned
from trueup.cli.outcomes import OF_A_COMMAND, add_limit_option, conclude, follow
from trueup.exit_codes import ExitCode
from trueup.reconcile.runs import Run
from trueup.reconcile.runs.journal import JournalUnwritable, Outcome
from trueup.reconcile.sources.errors import AccessDenied, Unreachable

FIRST, SECOND, THIRD = planned().steps


def run_of(outcomes, finished: bool = False, attempted=()) -> Run:
    return Run("a-run", 3, finished, iter(outcomes), lambda: attempted)


def outcomes_then(error: BaseException):
    yield FIRST, Outcome(FIRST.id, "done")
    raise error


@pytest.mark.parametrize(
    "error",
    [Unreachable("Placement", "gone"), JournalUnwritable("/var", "disk full"), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_a_run_that_stops_says_how_far_it_came(capsys, error):
    """Also of a write that is under way, whose outcome nobody waited for."""
    attempted = [(FIRST, Outcome(FIRST.id, "done")), (SECOND, Outcome(SECOND.id, "unknown"))]
    with pytest.raises(type(error)):
        follow(run_of(outcomes_then(error), attempted=attempted), lambda *_: None)
    reported = capsys.readouterr().err
    assert "Run a-run stopped: 2 of 3 steps attempted." in reported
    assert "Run a-run: 1 step done, 0 refused, 1 unknown." in reported
    assert "trueup undo a-run" in reported


def test_a_run_that_stops_because_a_step_was_refused_counts_that_step(capsys):
    """An account that may not write: its first step is refused, and no other is attempted."""
    denied, refused = AccessDenied("Nova", "403"), (FIRST, Outcome(FIRST.id, "refused"))

    def outcomes():
        yield refused
        raise denied

    with pytest.raises(AccessDenied):
        follow(run_of(outcomes(), attempted=[refused]), lambda *_: None, OF_A_COMMAND)
    reported = capsys.readouterr().err
    assert "Run a-run stopped: 1 of 3 steps attempted." in reported
    assert "To try refused steps again: give the same command again." in reported
    assert "plan" not in reported


@pytest.mark.parametrize(
    ("results", "code", "undo"),
    [
        (["done", "done"], ExitCode.CLEAN, True),
        (["done", "refused"], ExitCode.SOME_REFUSED, True),
        (["refused", "refused"], ExitCode.SOME_REFUSED, False),
        (["unknown"], ExitCode.SOME_REFUSED, True),
        ([], ExitCode.CLEAN, False),
    ],
)
def test_the_exit_code_and_the_way_back_follow_from_the_results(capsys, results, code, undo):
    outcomes = [(FIRST, Outcome(FIRST.id, result)) for result in results]
    assert conclude(run_of([]), outcomes) is code
    assert ("trueup undo a-run" in capsys.readouterr().err) is undo


def test_what_may_be_somebody_elses_work_is_told(capsys):
    outcomes = [(FIRST, Outcome(FIRST.id, "done", contested=True)), (SECOND, Outcome("", "done"))]
    assert conclude(run_of([]), outcomes) is ExitCode.CLEAN
    said = capsys.readouterr().err
    assert "1 step may be somebody else's work; the reason says why." in said


def test_a_run_that_was_finished_before_says_so(capsys):
    assert follow(run_of([], finished=True), lambda *_: None) == []
    assert "was finished before" in capsys.readouterr().err


def test_the_limit_is_a_number():
    parser = argparse.ArgumentParser()
    add_limit_option(parser)
    assert parser.parse_args(["--limit", "3"]).limit == 3
    assert parser.parse_args([]).limit is None
