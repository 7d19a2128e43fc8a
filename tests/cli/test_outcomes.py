# SPDX-License-Identifier: Apache-2.0
"""However a run ends, its steps and its name are reported."""

import argparse

import pytest

from tests.reconcile.planning import planned
from trueup.cli.outcomes import add_limit_option, conclude, follow
from trueup.exit_codes import ExitCode
from trueup.reconcile.journal import JournalUnwritable, Outcome
from trueup.reconcile.runs import Run
from trueup.reconcile.sources.errors import Unreachable

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
    assert "Run a-run stopped at step 2 of 3." in reported
    assert "Run a-run: 1 step done, 0 refused, 1 unknown." in reported
    assert "trueup undo a-run" in reported


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


def test_a_run_that_was_finished_before_says_so(capsys):
    assert follow(run_of([], finished=True), lambda *_: None) == []
    assert "was finished before" in capsys.readouterr().err


def test_the_limit_is_a_number():
    parser = argparse.ArgumentParser()
    add_limit_option(parser)
    assert parser.parse_args(["--limit", "3"]).limit == 3
    assert parser.parse_args([]).limit is None
