# SPDX-License-Identifier: Apache-2.0
"""What the commands of runbooks share: a dry run by default, --apply, continuing, verifying."""

import argparse
from abc import abstractmethod
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from trueup.cli.documents import DocumentVerb
from trueup.cli.driving import Driven, Driver
from trueup.cli.judging import add_audit_options, audit_options
from trueup.cli.outcomes import (
    AGE_MAX_HOURS,
    add_interval_option,
    add_limit_option,
    ask,
    tell_unsettled,
)
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say, wait
from trueup.cli.trail import add_trail_options, trail_of
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import refuse_interval
from trueup.reconcile.clock import now
from trueup.reconcile.collect.selection import SelectionUnknown
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.plan import Plan, refuse_too_large
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.runbook_table import (
    RUNBOOK_COLUMNS,
    RunbookView,
    runbook_document,
    runbook_table,
)
from trueup.reconcile.report.tables import Table
from trueup.reconcile.runbooks.observed import Pacing
from trueup.reconcile.runbooks.preflight import Prepared
from trueup.reconcile.runs import Chosen, Observer, closed, note_undos
from trueup.reconcile.runs.journal import Journal
from trueup.reconcile.runs.journals import last_for, read
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.wording import counted

# Options that only say how a plan is written.
_ONLY_TO_APPLY = {
    "yes": "--yes",
    "limit": "--limit",
    "send_to": "--send-to",
    "sign_with": "--sign-with",
}


class RunbookVerb(DocumentVerb, CloudVerb):
    """A command that prepares a plan for one purpose, and applies it with `--apply`."""

    COLUMNS = RUNBOOK_COLUMNS
    # Whether a run with a refused step is taken back, rather than left half done.
    whole = False
    _view: RunbookView
    # The run that was half done, if it could not be taken back in full.
    _staying = ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--apply", action="store_true", help="write it; without this nothing is written"
        )
        parser.add_argument("--yes", action="store_true", help="with --apply, write without asking")
        parser.add_argument(
            "--out", metavar="FILE", type=Path, help="keep the plan, for 'trueup plan show', "
            "'trueup rehearse' and 'trueup apply'",
        )  # fmt: skip
        add_interval_option(parser)
        add_limit_option(parser)
        add_audit_options(parser)
        add_state_option(parser)
        add_trail_options(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        for destination, option in _ONLY_TO_APPLY.items():
            if getattr(arguments, destination) not in (None, False, []) and not arguments.apply:
                raise OptionRefused(
                    option, "it would be ignored: nothing is written without --apply"
                )

    def document(self) -> Mapping[str, Any]:
        return runbook_document(self._view)

    @abstractmethod
    def purpose(self, arguments: argparse.Namespace) -> str:
        """What the steps of this runbook give as their reason, as `retire:compute-07`."""

    @abstractmethod
    def prepare(
        self, arguments: argparse.Namespace, observer: Observer, pacing: Pacing
    ) -> Prepared | None:
        """The runbook as it is to be applied now; None: nothing of it is left to do."""

    @abstractmethod
    def left(self, arguments: argparse.Namespace, cloud: Cloud, plan: Plan) -> tuple[str, ...]:
        """With a fresh look: what is not as it should be after this plan, in words."""

    def act(self, arguments: argparse.Namespace) -> Table:
        interval = timedelta(seconds=arguments.interval)
        refuse_interval(interval)
        if arguments.out:
            refuse_unwritable(arguments.out)
        trail = trail_of(arguments)
        with self.cloud(arguments) as cloud, progress() as report:
            driver = Driver(cloud, arguments.state_dir, report, whole=self.whole, trail=trail)
            if view := self._go_on(arguments, driver):
                self._view = view
                return runbook_table(view)
            observer = Observer(cloud, audit_options(arguments), report)
            pacing = Pacing(interval, lambda seconds: wait(seconds, report))
            prepared = self._prepared(arguments, observer, pacing)
            self._view = self._done_with(prepared, arguments, driver)
        return runbook_table(self._view)

    def _prepared(
        self, arguments: argparse.Namespace, observer: Observer, pacing: Pacing
    ) -> Prepared | None:
        """The runbook; None also if it is about something that a run of it has removed."""
        try:
            return self.prepare(arguments, observer, pacing)
        except SelectionUnknown:
            journal = self._last(arguments, observer.cloud)
            if journal is None or len(journal.in_place) < len(journal.plan.steps):
                raise
            say(f"Run {journal.run} has done it.")
            return None

    def _done_with(
        self, prepared: Prepared | None, arguments: argparse.Namespace, driver: Driver
    ) -> RunbookView:
        if prepared is None:
            say(f"Nothing is left to do for {self.purpose(arguments)}.")
            return RunbookView(None, left=())
        self._announce(prepared, arguments)
        if prepared.blocked or not prepared.plan.steps or not arguments.apply:
            return RunbookView(prepared)
        refuse_too_large(prepared.plan, arguments.limit)
        ask(arguments, prepared.plan, driver.cloud)
        return self._written(prepared, arguments, driver, lambda: driver.apply(prepared.plan))

    def _written(
        self,
        prepared: Prepared,
        arguments: argparse.Namespace,
        driver: Driver,
        drive: Callable[[], Driven],
    ) -> RunbookView:
        """What was written, and if all of it was, what a fresh look says.

        A run that is not to stay half done is taken back when a step is refused. So it is when a
        service refuses our credentials: that has refused the step, as any other reason does.
        """
        ended = drive()
        refused = any(outcome.result == "refused" for _, outcome in ended.outcomes)
        if self.whole and (refused or ended.denied):
            self._take_back(ended.run, prepared.plan, driver)
        if ended.denied:
            raise ended.denied
        self.exit_code = ended.code
        if ended.code is not ExitCode.CLEAN:
            return RunbookView(prepared, ended.outcomes, run=ended.run)
        left = self.left(arguments, driver.cloud, prepared.plan)
        if left:
            self.exit_code = ExitCode.FINDINGS
        return RunbookView(prepared, ended.outcomes, left, ended.run)

    def _announce(self, prepared: Prepared, arguments: argparse.Namespace) -> None:
        plan = prepared.plan
        if prepared.blocked:
            silent = any(check.part == "evidence" for check in prepared.checks)
            self.exit_code = ExitCode.INCOMPLETE if silent else ExitCode.FINDINGS
            say("Nothing is planned while a check blocks: do what it says, and run this again.")
            return
        if not plan.steps:
            say("Nothing is left to do.")
            if self._staying:
                self.exit_code = ExitCode.SOME_REFUSED
                see = complete(f"trueup journal {self._staying}")
                say(f"No step follows for what stays: see '{see}'.")
            return
        self.exit_code = ExitCode.FINDINGS
        if arguments.out:
            save(plan, arguments.out)
        say(f"{counted(len(plan.steps), 'step')}, {counted(len(plan.subjects), 'subject')}.")
        if lasting := prepared.permanent:
            say(
                f"The last step cannot be taken back: {in_words(lasting)}. Until it is done, the "
                "steps before it can."
            )
        if len(plan.subjects) > plan.limit and arguments.limit is None:
            say(f"That is more than the limit of {plan.limit}: it needs --limit.")
        if not arguments.apply:
            say("Nothing is written. Next: the same command with --apply")

    def _last(self, arguments: argparse.Namespace, cloud: Cloud) -> Journal | None:
        """The last run of the same purpose; a host of another cloud may have the same name."""
        cells = [cell.uuid for cell in cloud.nova.cells()]
        return last_for(self.purpose(arguments), arguments.state_dir, cells)

    def _go_on(self, arguments: argparse.Namespace, driver: Driver) -> RunbookView | None:
        """Go on with a run of the same purpose that was left half done; None: a new one begins."""
        journal = self._last(arguments, driver.cloud)
        if journal is not None and arguments.apply:
            note_undos(journal.run, driver.cloud, driver.folder)
            journal = read(journal.run, driver.folder)
        if journal is None or not journal.half_done:
            return None
        if not arguments.apply:
            say(f"Run {journal.run} is half done: with --apply it is continued, or taken back.")
            self.exit_code = ExitCode.FINDINGS
            return None
        run, plan = journal.run, journal.plan
        prepared = Prepared(self.purpose(arguments), (), plan)
        left = sum(1 for step in plan.steps if not journal.is_done(step.id))
        interruption = f"Run {run} was interrupted with {counted(left, 'step')} left"
        if journal.interrupted and now() - plan.made_at <= timedelta(hours=AGE_MAX_HOURS):
            say(f"{interruption}: continuing it.")
            return self._written(prepared, arguments, driver, lambda: driver.go_on(run))
        if self.whole:
            is_known = self._take_back(run, plan, driver)
        else:
            is_known = not tell_unsettled(closed(run, driver.cloud, driver.folder))
        settled = read(run, driver.folder)
        if not is_known:
            # SAFETY: what may still be written is not in what a new plan is made from.
            self.exit_code = ExitCode.SOME_REFUSED
            return RunbookView(prepared, settled.attempted, run=run)
        if self.whole and settled.in_place:
            self._staying = run
            say("What could not be taken back stays. A new plan is made from what is there now.")
        elif journal.interrupted and not self.whole:
            say(
                f"{interruption}; its plan is older than {AGE_MAX_HOURS:g} h, so a new one is made."
            )
        if not self.whole and settled.in_place:
            done = counted(len(settled.in_place), "step")
            back = complete(f"trueup undo {run}")
            say(f"In place of run {run}: {done}. To take that back too: {back}")
        return None

    def _take_back(self, run: str, plan: Plan, driver: Driver) -> bool:
        """Take back a run that must not stay half done.

        Returns whether the state of its steps is known. A step is refused if its target has changed
        since.
        """
        if not read(run, driver.folder).half_done:
            return True
        say(f"Run {run} is half done: what of it is in place is taken back.")
        back = driver.take_back(run, Chosen(limit=len(plan.subjects)))
        results = {outcome.result for _, outcome in back.outcomes}
        return back.settled and "unknown" not in results
