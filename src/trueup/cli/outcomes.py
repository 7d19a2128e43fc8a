# SPDX-License-Identifier: Apache-2.0
"""A run as the operator follows it: progress, and what happened, however it ends."""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.terminal.given import complete
from trueup.cli.terminal.progress import say
from trueup.cli.trail import add_trail_options
from trueup.exit_codes import ExitCode
from trueup.reconcile.changes import not_restorable, permanent_in
from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.plan import LEFT_OUT, Direction, Only, Plan, Ruling
from trueup.reconcile.plan.policy_file import MACHINE
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs import INTERVAL_SECONDS, Planned, Run
from trueup.reconcile.runs.journal import Journal, StepOutcome, done_by_reason
from trueup.reconcile.runs.journals import unread_since
from trueup.reconcile.runs.pace import Pace
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.verdicts.verified import FOUND_AGAIN, State, Verified
from trueup.reconcile.wording import counted

# A plan that is older is refused, or made anew.
AGE_MAX_HOURS = 1.0
# A step takes some ten milliseconds, with its reads.
SLOW_AFTER_SECONDS = 2.0


@dataclass(eq=False)
class NotAgreed(Exception):
    """The operator was asked, and did not answer yes."""


@dataclass(eq=False)
class PolicyAsks(Exception):
    """This rule of a policy wants a person to say yes, and there is none to ask."""

    rule: str
    policy: str
    passed_over: Reason | None


@dataclass(frozen=True, slots=True)
class Again:
    """What to do, in words, about steps that a run did not come to, and about refused ones."""

    stopped: str
    refused: str


OF_A_COMMAND = Again("give the same command again", "give the same command again")


def of_a_plan(path: Path, only: Only) -> Again:
    """What to do about steps of the part of a plan in a file."""
    words = [f"--only {defect}" for defect in sorted(only.defects)]
    words += [f"--only-{only.direction}"] if only.direction else []
    command = complete(" ".join(["trueup apply", shlex.quote(str(path)), *words]))
    return Again(command, f"{command} --replan, or make a new plan")


def conclude(run: str, outcomes: Sequence[StepOutcome], again: Again) -> None:
    """Say how many steps of a run ended in which way, and how to take them back."""
    results = Counter(outcome.result for _, outcome in outcomes)
    unknown = f", {results['unknown']} unknown" if results["unknown"] else ""
    done, refused = counted(results["done"], "step"), results["refused"]
    say(f"Run {run}: {done} done, {refused} refused{unknown}.")
    if results["unknown"]:
        say(
            "Unknown: the write was not answered, and may have been made or still come. "
            f"To find out which: {again.stopped}, or take the run back."
        )
    if contested := sum(1 for _, outcome in outcomes if outcome.contested):
        say(
            f"{counted(contested, 'step')} may be somebody else's work; the reason says why. An "
            "undo of this run leaves such a step in place, unless --step names it."
        )
    done_steps = [step for step, outcome in outcomes if outcome.result == "done"]
    if lasting := permanent_in(done_steps):
        say(f"It cannot be taken back: {in_words(lasting)}.")
    elif results["done"] or results["unknown"]:
        say(f"To take it back: {complete(f'trueup undo {run}')}")
    if results["refused"]:
        say(f"To try refused steps again: {again.refused}.")


_AFTER_THE_WRITE = {
    State.STILL_THERE: "Still found after the write",
    State.COME_BACK: "Found again after the write",
    State.OTHER: "Another finding after the write",
}


def tell_verified(rows: Sequence[Verified]) -> None:
    """Say how many findings are gone, and which are there although their steps are done."""
    if gone := [row for row in rows if row.state is State.GONE]:
        are = "is" if len(gone) == 1 else "are"
        say(f"Read again after the write: {counted(len(gone), 'finding')} {are} gone.")
    for row in rows:
        if words := _AFTER_THE_WRITE.get(row.state):
            found = row.others[0] if row.state is State.OTHER else row.finding
            see = complete(f"trueup explain {found.subject}")
            say(f"{words}: {found.id}. See: {see}")
    if unjudged := [row for row in rows if row.state is State.NOT_JUDGED]:
        first, *others = unjudged
        more = f" and {counted(len(others), 'other finding')}" if others else ""
        why = in_words(first.reason)
        say(f"Could not check after the write: {first.finding.id}{more}: {why}.")


def code_of_verified(rows: Iterable[Verified]) -> ExitCode:
    """The exit code of a verification."""
    states = {row.state for row in rows}
    if states & {*FOUND_AGAIN, State.OTHER}:
        return ExitCode.FINDINGS
    return ExitCode.INCOMPLETE if State.NOT_JUDGED in states else ExitCode.CLEAN


def tell_in_part(undo: Run) -> None:
    """Say which steps an interrupted run had written in part, and what became of that."""
    for step, outcome in undo.in_part:
        say(f"Step {step.id} was written in part: {in_words(outcome.reason)}.")


def tell_unsettled(earlier: Run) -> bool:
    """Say which steps of an earlier run may still be written; whether there are any."""
    tell_in_part(earlier)
    for step in earlier.open:
        say(
            f"Step {step.id} was about to be written when run {step.run} ended. It is not written "
            "so far, but may still be: give the same command again in two minutes."
        )
    return bool(earlier.open)


def tell_unread(run: str, folder: Path) -> None:
    """Say which journals cannot be read, and may be of an undo of a run. Raises as `read`."""
    for unread in unread_since(run, folder):
        say(
            f"Journal {unread.run} cannot be read: {unread.reason}. It may be of an undo of run "
            f"{run} that took steps back."
        )


def tell_open(undo: Run, undone: str) -> None:
    """Say which steps of an undone run, or of earlier undos of it, may still be written.

    And which it leaves as they are: they may be somebody else's work, or cannot be taken back.
    """
    again = complete(f"trueup undo {undone}")
    for step in undo.open:
        what, past = "written", f"when run {step.run} ended"
        if step.takes_back:
            what, past = "taken back", f"by run {step.run} when that ended"
        say(
            f"Step {step.id} was about to be {what} {past}. It is not {what} so far, but may "
            f"still be: run '{again}' again in two minutes."
        )
    for contested in undo.left_in_place:
        say(
            f"Step {contested.id} is left in place: it may be somebody else's work. To take it "
            f"back all the same: {again} --step {contested.id}"
        )
    for name, steps in undo.elsewhere.items():
        verb, them = ("is", "it") if len(steps) == 1 else ("are", "them")
        say(
            f"{counted(len(steps), 'step')} of run {undone} {verb} in place by run {name}, which "
            f"did {them} again after an undo. To take that back: {complete(f'trueup undo {name}')}"
        )
    for written, outcome in undo.partly:
        say(f"Step {written.id} is not taken back: {in_words(outcome.reason)}.")


def tell_nothing_to_undo(undo: Run, undone: str) -> None:
    """Say that an undo had nothing to take back of a run."""
    so_far = " so far" if undo.open else ""
    other = undo.left_in_place or undo.partly or undo.elsewhere
    what = "Nothing else" if other else "Nothing"
    say(f"{what} of run {undone} is in place{so_far}; nothing is written.")


def code_of(*runs: Iterable[StepOutcome]) -> ExitCode:
    """The exit code of runs, where a later one may do what an earlier one could not.

    What a finding needs is done if every step for it is, in the last run that has one.
    """
    done: dict[str, bool] = {}
    for outcomes in runs:
        done |= done_by_reason(outcomes)
    return ExitCode.CLEAN if all(done.values()) else ExitCode.SOME_REFUSED


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """--limit, for the commands that write."""
    parser.add_argument(
        "--limit",
        metavar="SUBJECTS",
        type=int,
        help="how many consumers, providers … may be touched "
        "(default: 25, or 1 %% of consumers if more)",
    )


def add_only_options(parser: argparse._ActionsContainer) -> None:
    """--only, --only-adds and --only-releases, for the commands that plan and apply."""
    parser.add_argument(
        "--only",
        metavar="DEFECT",
        choices=[defect.NAME for defect in DEFECTS],
        action="append",
        default=[],
        help="only findings of this defect; may be given several times",
    )
    direction = parser.add_mutually_exclusive_group()
    for effect, words in ((Direction.ADDS, "give"), (Direction.RELEASES, "release")):
        direction.add_argument(
            f"--only-{effect}",
            dest="direction",
            action="store_const",
            const=effect,
            help=f"only findings whose steps {words} resources, and do nothing else",
        )


def only_of(arguments: argparse.Namespace) -> Only:
    """What --only, --only-adds and --only-releases say."""
    return Only(frozenset(arguments.only), arguments.direction)


def add_policy_option(parser: argparse._ActionsContainer) -> None:
    """--policy, for the commands that plan and apply."""
    parser.add_argument(
        "--policy",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help=f"obey this policy too, besides {MACHINE} where that exists",
    )


def add_interval_option(parser: argparse._ActionsContainer) -> None:
    """--interval, for the commands that observe twice."""
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=float,
        default=INTERVAL_SECONDS,
        help="time between the two observations (default: %(default)s)",
    )


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """--yes, and how steps are written, for the commands that write."""
    add_trail_options(parser)
    parser.add_argument(
        "--yes", action="store_true", help="write without asking; in a pipe nothing is asked anyway"
    )
    parser.add_argument(
        "--concurrency",
        metavar="STEPS",
        type=int,
        default=1,
        help="how many steps are written side by side (default: %(default)s)",
    )
    parser.add_argument(
        "--rate",
        metavar="STEPS",
        type=float,
        help="how many steps are begun in a second at most (default: unlimited)",
    )
    parser.add_argument(
        "--slow-after",
        metavar="SECONDS",
        type=float,
        default=SLOW_AFTER_SECONDS,
        help="wait between steps while a step takes longer than this: services are busy "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--pause-file",
        metavar="FILE",
        type=Path,
        help="begin no step while this file is there",
    )


def pace_of(arguments: argparse.Namespace) -> Pace:
    """What the options say of how steps are written."""
    return Pace(
        arguments.concurrency,
        arguments.rate,
        arguments.slow_after,
        arguments.pause_file,
        lambda path: say(f"Paused: no step is begun while {path} is there."),
    )


def ask(arguments: argparse.Namespace, plan: Plan, cloud: Cloud) -> None:
    """Ask once, at a terminal, whether a plan is to be written. Raises NotAgreed."""
    _ask(
        arguments,
        f"Write {counted(len(plan.steps), 'step')} that touch "
        f"{counted(len(plan.subjects), 'subject')} to {cloud.placement.endpoint()}?",
    )


def refuse_unasked(arguments: argparse.Namespace, rulings: Iterable[Ruling]) -> None:
    """Raise PolicyAsks if a policy wants a person asked, and `ask` would ask nobody."""
    if not arguments.yes and _at_terminal():
        return
    for ruling in rulings:
        if ruling.decision == "ask":
            raise PolicyAsks(ruling.rule, ruling.policy, ruling.passed_over)


def ask_undo(arguments: argparse.Namespace, journal: Journal) -> None:
    """Ask once, at a terminal, whether a run is to be taken back. Raises NotAgreed."""
    steps = arguments.step or [pair for pair in journal.in_place if not pair[1].contested]
    _ask(arguments, f"Take back {counted(len(steps), 'step')} of run {journal.run}?")


def confirm(arguments: argparse.Namespace, question: str) -> None:
    """Ask once, at a terminal, whether to do what a question says. Raises NotAgreed."""
    _ask(arguments, question)


def tell_plan(planned: Planned) -> None:
    """How many steps there are for how many findings, and what was declined, with the reason."""
    plan, providers = planned.plan, planned.second.facts.providers
    say(f"{counted(len(plan.steps), 'step')} for {counted(len(plan.findings), 'finding')}.")
    left_out = [declined for declined in plan.declined if declined.reason == LEFT_OUT]
    for declined in plan.declined:
        if declined not in left_out:
            say(f"No step for {declined.finding.id}: {in_words(declined.reason)}.")
    if left_out:
        say(f"{counted(len(left_out), 'finding')} left out by an option.")
    for number, step in enumerate(plan.steps, 1):
        if reason := not_restorable(step, providers):
            say(f"Step {number} cannot be taken back: {in_words(reason)}.")


def _ask(arguments: argparse.Namespace, question: str) -> None:
    if arguments.yes or not _at_terminal():
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreed


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
