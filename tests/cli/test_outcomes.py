# SPDX-License-Identifier: Apache-2.0
"""However a run ends, its steps and its name are reported."""

import argparse

import pytest
from msgspec import structs

from tests.reconcile.planning import planned
from trueup.cli.outcomes import OF_A_COMMAND, add_limit_option, code_of, conclude
from trueup.exit_codes import ExitCode
from trueup.reconcile.runs.journal import Outcome

FIRST, SECOND, THIRD = planned().steps


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
    steps = zip((FIRST, SECOND), results, strict=False)
    outcomes = [(step, Outcome(step.id, result)) for step, result in steps]
    conclude("a-run", outcomes, OF_A_COMMAND)
    assert code_of(outcomes) is code
    assert ("trueup undo a-run" in capsys.readouterr().err) is undo


def test_what_may_be_somebody_elses_work_is_told(capsys):
    outcomes = [(FIRST, Outcome(FIRST.id, "done", contested=True)), (SECOND, Outcome("", "done"))]
    conclude("a-run", outcomes, OF_A_COMMAND)
    said = capsys.readouterr().err
    assert "1 step may be somebody else's work; the reason says why." in said


def test_a_finding_counts_as_done_when_every_step_for_it_is():
    """In the last run that has one: a step of its that was refused may be another step there."""
    first, second = (structs.replace(one, because=("a-finding",)) for one in (FIRST, SECOND))
    done, refused = (
        (step, Outcome(step.id, result)) for step, result in ((first, "done"), (second, "refused"))
    )
    assert code_of([done, refused]) is ExitCode.SOME_REFUSED
    assert code_of([done, refused], [done]) is ExitCode.CLEAN
    another = structs.replace(FIRST, because=("another",))
    assert code_of([refused], [(another, Outcome(another.id, "done"))]) is ExitCode.SOME_REFUSED
    assert code_of() is ExitCode.CLEAN


def test_the_limit_is_a_number():
    parser = argparse.ArgumentParser()
    add_limit_option(parser)
    assert parser.parse_args(["--limit", "3"]).limit == 3
    assert parser.parse_args([]).limit is None
