# SPDX-License-Identifier: Apache-2.0
"""However a run ends, its steps and its name are reported."""

from pathlib import Path

import pytest

from tests.reconcile.planning import planned
from trueup.cli.driving import Driven, Driver, code_of_all
from trueup.cli.outcomes import of_a_plan
from trueup.exit_codes import ExitCode
from trueup.reconcile.plan import Only
from trueup.reconcile.runs import Run
from trueup.reconcile.runs.journal import JournalUnwritable, Outcome
from trueup.reconcile.sources.errors import AccessDenied, Unreachable
from trueup.reconcile.verdicts.verified import State, Verified

PLAN = planned()
FIRST, SECOND, THIRD = PLAN.steps
DONE, REFUSED = (FIRST, Outcome(FIRST.id, "done")), (FIRST, Outcome(FIRST.id, "refused"))


def driver(**options) -> Driver:
    return Driver(None, Path(), lambda *_: None, **options)


def run_of(outcomes, finished: bool = False, attempted=()) -> Run:
    return Run("a-run", 3, finished, iter(outcomes), lambda: attempted)


def then(error: BaseException, *outcomes):
    yield from outcomes
    raise error


@pytest.mark.parametrize(
    "error",
    [Unreachable("Placement", "gone"), JournalUnwritable("/var", "disk full"), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
def test_a_run_that_stops_says_how_far_it_came(capsys, error):
    """Also of a write that is under way, whose outcome nobody waited for."""
    attempted = [DONE, (SECOND, Outcome(SECOND.id, "unknown"))]
    with pytest.raises(type(error)):
        driver(again=of_a_plan(Path("plan.json"), Only())).followed(
            run_of(then(error, DONE), attempted=attempted)
        )
    reported = capsys.readouterr().err
    assert "Run a-run stopped: 2 of 3 steps attempted." in reported
    assert "Run a-run: 1 step done, 0 refused, 1 unknown." in reported
    assert "trueup undo a-run" in reported
    assert "To continue it: trueup apply plan.json." in reported


def test_a_run_that_stops_because_a_step_was_refused_counts_that_step(capsys):
    """An account that may not write: its first step is refused, and no other is attempted."""
    denied = AccessDenied("Nova", "403")
    with pytest.raises(AccessDenied):
        driver().followed(run_of(then(denied, REFUSED), attempted=[REFUSED]))
    reported = capsys.readouterr().err
    assert "Run a-run stopped: 1 of 3 steps attempted." in reported
    assert "To try refused steps again: give the same command again." in reported
    assert "plan" not in reported


def test_a_command_that_takes_half_a_run_back_is_told_that_it_was_denied():
    denied = AccessDenied("Nova", "403")
    ended = driver(whole=True).followed(run_of(then(denied, REFUSED), attempted=[REFUSED]))
    assert (ended.run, ended.outcomes, ended.denied) == ("a-run", (REFUSED,), denied)


def test_a_run_that_was_finished_before_says_so(capsys):
    assert driver().followed(run_of([DONE], finished=True)).outcomes == (DONE,)
    assert "was finished before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcome", "state", "code"),
    [
        (DONE, State.GONE, ExitCode.CLEAN),
        (DONE, State.STILL_THERE, ExitCode.FINDINGS),
        (DONE, State.COME_BACK, ExitCode.FINDINGS),
        (DONE, State.OTHER, ExitCode.FINDINGS),
        (DONE, State.NOT_JUDGED, ExitCode.INCOMPLETE),
        (REFUSED, State.STILL_THERE, ExitCode.SOME_REFUSED),
    ],
)
def test_what_became_of_findings_after_the_write_decides_the_exit_code(outcome, state, code):
    rows = (Verified(PLAN.findings[0], State.GONE), Verified(PLAN.findings[0], state))
    assert code_of_all(Driven("a-run", (outcome,), rows)) is code
    assert code_of_all() is ExitCode.CLEAN
