# SPDX-License-Identifier: Apache-2.0
"""trueup ghosts: what Nova says, what each hypervisor has and what Placement counts, and one plan
for instances that were deleted in the database only."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from trueup.cli.driving import Driven, Driver, code_of_all
from trueup.cli.judging import add_audit_options, audit_options, summarize
from trueup.cli.outcomes import (
    SLOW_AFTER_SECONDS,
    add_interval_option,
    add_limit_option,
    add_writing_options,
    ask,
    pace_of,
    tell_plan,
)
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import Report, progress, say, wait
from trueup.cli.trail import trail_of
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import refuse_interval
from trueup.reconcile.clock import now
from trueup.reconcile.collect.selection import Selection
from trueup.reconcile.facts import LIBVIRT, Facts
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.plan import refuse_too_large, refuse_unfit
from trueup.reconcile.plan.plan_file import save
from trueup.reconcile.report.ghosts import GHOSTS_COLUMNS, attached, ghosts_table, kept, losses
from trueup.reconcile.report.tables import OUTCOME_COLUMNS, Columns, Table, outcome_table
from trueup.reconcile.runbooks.ghosts import (
    Comparison,
    GhostChoice,
    compared,
    refuse_strangers,
    remedy,
    removes_definitions,
)
from trueup.reconcile.runs import Observer, Planned, plan, undefined_in
from trueup.reconcile.runs.journals import interrupted
from trueup.reconcile.runs.pace import ONE_BY_ONE
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.libvirt import PATTERN

# A run that was interrupted longer ago is not continued; what is left of it is planned anew.
_CONTINUED_WITHIN = timedelta(hours=1)
_DISCARDS = ("nvram", "managed-save")


class GhostsCommand(CloudVerb):
    """Compare Nova, the hypervisors and Placement, and clean up after deleted instances.

    Such an instance is deleted in the database and still defined on a host. Nothing is written
    without --apply."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
        _add_ghost_options(parser)
        add_state_option(parser)
        add_limit_option(parser)
        add_writing_options(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        writes = arguments.apply or arguments.out
        if arguments.domain and writes and not arguments.yes:
            raise OptionRefused(
                "--domain", "it stops a guest that runs; say --yes as well if that is what you want"
            )
        if not arguments.apply:
            _refuse_of_writing(arguments)
        if arguments.apply and arguments.out:
            raise OptionRefused("--out", "with --apply the journal keeps the plan; leave one out")
        if arguments.all and arguments.apply:
            raise OptionRefused("--all", "with --apply the steps are shown; leave one out")

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return OUTCOME_COLUMNS if arguments.apply else GHOSTS_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        refuse_interval(timedelta(seconds=arguments.interval))
        if arguments.out:
            refuse_unwritable(arguments.out)
        # The hypervisors are what this command is about, so they are always asked.
        arguments.libvirt = arguments.libvirt or PATTERN
        trail = trail_of(arguments)
        with self.cloud(arguments) as cloud, progress() as report:
            driver = Driver(cloud, arguments.state_dir, report, pace_of(arguments), trail=trail)
            ended = list(self._continued(driver, arguments))
            planned = _planned(cloud, arguments, report)
            rows = _rows(planned, arguments)
            self.exit_code = _verdict(planned, rows)
            if not arguments.apply:
                return self._shown(planned, rows, arguments)
            if planned.plan.steps:
                refuse_too_large(planned.plan, arguments.limit)
                ask(arguments, planned.plan, cloud)
                ended.append(driver.verified(planned.plan, driver.apply(planned.plan)))
            self.exit_code = _written(self.exit_code, planned, ended)
        outcomes = [outcome for run in ended for outcome in run.outcomes]
        return outcome_table(outcomes, planned.plan.names)

    def _shown(
        self, planned: Planned, rows: Sequence[Comparison], arguments: argparse.Namespace
    ) -> Table:
        if arguments.out:
            save(planned.plan, arguments.out)
        if planned.plan.steps:
            kept = arguments.out and complete(f"trueup apply {shlex.quote(str(arguments.out))}")
            say(f"Next: {kept or _again(arguments)}")
        return ghosts_table(rows, planned.plan, planned.second.facts)

    def _continued(self, driver: Driver, arguments: argparse.Namespace) -> Iterator[Driven]:
        """Go on with the runs of this command that were interrupted, if it may write.

        Raises JournalDamaged, also where nothing may be written.
        """
        cells = [cell.uuid for cell in driver.cloud.nova.cells()]
        since = now() - _CONTINUED_WITHIN
        unfinished = interrupted(driver.folder, cells, since, removes_definitions)
        for journal in unfinished if arguments.apply else ():
            say(f"Run {journal.run} was interrupted; continuing it.")
            refuse_unfit(journal.plan, cells, now(), _CONTINUED_WITHIN)
            yield driver.apply(journal.plan)


def _again(arguments: argparse.Namespace) -> str:
    """The same command so that it writes, in words."""
    more = " --yes" if arguments.domain else ""
    less = ", without --all" if arguments.all else ""
    return f"the same with --apply{more}{less}"


def _written(shown: ExitCode, planned: Planned, ended: Sequence[Driven]) -> ExitCode:
    """The exit code after a plan was written; `shown` is that of the comparison before."""
    code = code_of_all(*ended)
    if code is not ExitCode.CLEAN:
        return code
    if shown is ExitCode.INCOMPLETE:
        return shown
    return ExitCode.FINDINGS if planned.plan.declined else code


def _refuse_of_writing(arguments: argparse.Namespace) -> None:
    """Raise OptionRefused for an option that only says how a plan is written.

    Beside --domain and --out, --yes says that the plan may stop a guest.
    """
    given = {
        "--limit": arguments.limit is not None,
        "--concurrency": arguments.concurrency != ONE_BY_ONE.concurrency,
        "--rate": arguments.rate is not None,
        "--slow-after": arguments.slow_after != SLOW_AFTER_SECONDS,
        "--pause-file": arguments.pause_file is not None,
        "--send-to": bool(arguments.send_to),
        "--sign-with": arguments.sign_with is not None,
        "--yes": arguments.yes and not (arguments.domain and arguments.out),
    }
    for option in (option for option, there in given.items() if there):
        raise OptionRefused(option, "it would be ignored: nothing is written without --apply")


def _planned(cloud: Cloud, arguments: argparse.Namespace, report: Report) -> Planned:
    """Observe twice, and plan. Raises NoGhost."""
    choice = _choice(arguments)
    selection = Selection(hosts=choice.hosts)
    observer = Observer(cloud, audit_options(arguments), report, selection)
    first = observer.observe()
    refuse_strangers(first, choice, undefined_in(arguments.state_dir))
    planned = plan(
        observer,
        first.audit,
        timedelta(seconds=arguments.interval),
        lambda seconds: wait(seconds, report),
        remedy(choice),
    )
    summarize(planned.second.audit)
    tell_plan(planned)
    for words in kept(planned.plan, planned.second.facts):
        say(f"Kept {words}")
    for words in attached(planned.plan, planned.second.facts):
        say(f"Not detached: {words}.")
    for words in losses(planned.plan):
        say(f"Cannot be undone: {words}")
    return planned


def _rows(planned: Planned, arguments: argparse.Namespace) -> list[Comparison]:
    rows = list(compared(planned.second, _choice(arguments)))
    shown = [row for row in rows if arguments.all or row.verdicts or not row.agree]
    seen = [row for row in rows if row.on_hypervisors is not None]
    unseen = len(rows) - len(seen)
    say(
        f"{len(rows)} instances; Nova, the hypervisors and Placement agree about "
        f"{sum(row.agree for row in seen)}."
        + (f" Of {unseen} it is not known what their hypervisor has." if unseen else "")
    )
    return shown


def _verdict(planned: Planned, rows: Sequence[Comparison]) -> ExitCode:
    """What the comparison shows; a silent source comes first, as in an audit."""
    second, shown = planned.second, {row.uuid for row in rows}
    # The plan settles what it is about, also what could not be checked of that.
    settled = {row.subject.uuid for row in planned.plan.findings}
    unchecked = {row.subject.uuid for row in second.audit.unchecked}
    if not second.audit.coverage.complete or _silent(second.facts) or unchecked & shown - settled:
        return ExitCode.INCOMPLETE
    left = planned.plan.steps or planned.plan.declined
    return ExitCode.FINDINGS if left else ExitCode.CLEAN


def _silent(facts: Facts) -> bool:
    """Whether hypervisors were asked and none answered. One alone may be of a dead host."""
    asked = (row for row in facts.coverage.sources if row.source == LIBVIRT)
    return any(row.unsupported for row in asked) and not facts.hypervisors_that_answered


def _choice(arguments: argparse.Namespace) -> GhostChoice:
    return GhostChoice(
        frozenset(arguments.host), frozenset(arguments.domain), frozenset(arguments.discard)
    )


def _add_ghost_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        default=[],
        help="only instances that Nova, a hypervisor or Placement has on this host; only its "
        "hypervisor is asked, and those of hosts where such an instance was (several times)",
    )
    parser.add_argument(
        "--all", action="store_true", help="show the instances about which all agree too"
    )
    parser.add_argument(
        "--domain",
        metavar="UUID",
        action="append",
        default=[],
        help="stop the guest of this domain although it runs, if its instance is deleted "
        "(several times; needs --yes to write)",
    )
    parser.add_argument(
        "--discard",
        choices=_DISCARDS,
        action="append",
        default=[],
        help="what may be lost with a definition; disks never are (several times)",
    )
    parser.add_argument(
        "--apply", action="store_true", help="write it; without this nothing is written"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep the plan in this file")
    add_interval_option(parser)
