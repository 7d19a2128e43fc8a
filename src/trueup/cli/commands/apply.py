# SPDX-License-Identifier: Apache-2.0
"""trueup apply: write a plan, step by step, each guarded and each in the journal."""

import argparse
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from trueup.cli.driving import Driven, Driver, code_of_all
from trueup.cli.outcomes import (
    AGE_MAX_HOURS,
    add_limit_option,
    add_only_options,
    add_policy_option,
    add_writing_options,
    ask,
    of_a_plan,
    only_of,
    pace_of,
    refuse_unasked,
    tell_plan,
    tell_unread,
)
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, wait
from trueup.cli.trail import trail_of
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.reconcile.clock import now
from trueup.reconcile.plan import Plan, PlanStale, Ruling, narrowed, refuse_too_large, refuse_unfit
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.plan.policy import ApprovalTerms
from trueup.reconcile.plan.policy_file import InForce, in_force
from trueup.reconcile.plan.rulings import (
    obeying,
    permitted,
    refuse_changed,
    refuse_closed,
    rulings_of,
)
from trueup.reconcile.report.tables import OUTCOME_COLUMNS, Table, outcome_table
from trueup.reconcile.runs import INTERVAL_SECONDS, observer_of, plan_again
from trueup.reconcile.runs.approvals import approvals_of, own_accounts, signed
from trueup.reconcile.runs.journal import Approval, Origin, StepOutcome
from trueup.reconcile.runs.journals import RunUnknown, read
from trueup.reconcile.verdicts import Finding


class ApplyCommand(CloudVerb):
    """Write the steps of a plan. Apply the same plan again to continue after an interruption."""

    COLUMNS = OUTCOME_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        add_state_option(parser)
        add_limit_option(parser)
        add_writing_options(parser)
        add_only_options(parser)
        add_policy_option(parser)
        parser.add_argument(
            "--require-approval",
            metavar="PERSONS",
            type=int,
            default=0,
            help="refuse the plan unless so many persons, other than you, have approved it",
        )
        parser.add_argument(
            "--replan",
            metavar="SECONDS",
            type=float,
            nargs="?",
            const=INTERVAL_SECONDS,
            help="plan refused steps again, with two new observations this many seconds apart "
            "(%(const)s if not given), and apply that plan too",
        )
        parser.add_argument(
            "--no-verify",
            dest="verify",
            action="store_false",
            help="do not check after the write whether the findings are gone; 'trueup verify "
            "RUN' does that later",
        )
        parser.add_argument(
            "--max-age",
            metavar="HOURS",
            type=float,
            default=AGE_MAX_HOURS,
            help="how old the plan may be (default: %(default)s)",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        whole = load(arguments.plan)
        policies = in_force(arguments.policy)
        plan = narrowed(whole, only_of(arguments))
        # SAFETY: by the size of the whole plan, so that no option makes it small.
        rulings = permitted(plan, rulings_of(whole, policies))
        approvals = _approvals(whole, policies, rulings, arguments)
        refuse_unasked(arguments, rulings)
        refuse_closed(policies, now())
        refuse_too_large(plan, arguments.limit)
        trail = trail_of(arguments)
        with self.cloud(arguments) as cloud:
            cells = [cell.uuid for cell in cloud.nova.cells()]
            _refuse_unfit(plan, cells, arguments)
            tell_unread(plan.id, arguments.state_dir)
            ask(arguments, plan, cloud)
            with progress() as report:
                driver = Driver(
                    cloud,
                    arguments.state_dir,
                    report,
                    replace(pace_of(arguments), permit=lambda: _permit(policies, arguments)),
                    of_a_plan(arguments.plan, only_of(arguments)),
                    known=Origin(approvals=approvals),
                    trail=trail,
                )
                ended = [_applied(plan, driver, arguments)]
                if arguments.replan and (findings := _refused(plan, ended[0].outcomes)):
                    ended += self._again(plan, findings, driver, arguments)
        self.exit_code = code_of_all(*ended)
        return outcome_table((outcome for run in ended for outcome in run.outcomes), plan.names)

    def _again(
        self,
        plan: Plan,
        findings: Sequence[Finding],
        driver: Driver,
        arguments: argparse.Namespace,
    ) -> list[Driven]:
        """Plan these findings again, with two new observations, and apply that plan."""
        observer = observer_of(plan, findings, driver.cloud, driver.report)
        interval = timedelta(seconds=arguments.replan)
        planned = plan_again(observer, findings, interval, lambda left: wait(left, driver.report))
        made = narrowed(planned.plan, only_of(arguments))
        planned = replace(planned, plan=obeying(made, in_force(arguments.policy)))
        tell_plan(planned)
        if not planned.plan.steps:
            return []
        refuse_too_large(planned.plan, arguments.limit)
        rulings = permitted(planned.plan, planned.plan.rulings)
        if any(ruling.approvals for ruling in rulings):
            raise _nobody_approved()
        refuse_unasked(arguments, rulings)
        if any(ruling.decision == "ask" for ruling in rulings):
            ask(arguments, planned.plan, driver.cloud)
        return [_applied(planned.plan, driver, arguments)]


def _approvals(
    plan: Plan,
    policies: Sequence[InForce],
    rulings: Iterable[Ruling],
    arguments: argparse.Namespace,
) -> tuple[Approval, ...]:
    """The approvals that the plan needs. Raises NotApproved, KeygenFailed, OptionRefused."""
    terms = [policy.policy.approval for policy in policies] or [ApprovalTerms()]
    least = max(arguments.require_approval, *(ruling.approvals for ruling in rulings), 0)
    signatures, appliers = signed(plan, arguments.plan), own_accounts()
    found: dict[Approval, None] = {}
    for each in terms:
        if needed := max(each.required, least):
            found |= dict.fromkeys(approvals_of(signatures, needed, each, appliers))
    if found and arguments.replan:
        raise _nobody_approved()
    return tuple(found)


def _permit(policies: Sequence[InForce], arguments: argparse.Namespace) -> None:
    """Raise WritesClosed if the policies that a run began with let it begin no other step."""
    refuse_changed(policies, in_force(arguments.policy))
    refuse_closed(policies, now())


def _refuse_unfit(plan: Plan, cells: Sequence[str], arguments: argparse.Namespace) -> None:
    """Raise as `refuse_unfit`; of a plan that is too old, with what its run has written."""
    try:
        refuse_unfit(plan, cells, now(), timedelta(hours=arguments.max_age))
    except PlanStale as stale:
        with suppress(RunUnknown):
            journal = read(plan.id, arguments.state_dir)
            counts = len(journal.in_place), len(journal.plan.steps)
            raise PlanStale(stale.made_at, stale.age, stale.age_max, journal.run, *counts) from None
        raise


def _nobody_approved() -> OptionRefused:
    return OptionRefused("--replan", "nobody has approved a plan that is made anew; plan again")


def _applied(plan: Plan, driver: Driver, arguments: argparse.Namespace) -> Driven:
    ended = driver.apply(plan)
    return driver.verified(plan, ended) if arguments.verify else ended


def _refused(plan: Plan, outcomes: Iterable[StepOutcome]) -> list[Finding]:
    """The findings of a plan that had a step refused.

    SAFETY: without findings whose steps may still be written.
    """
    results: dict[str, set[str]] = {}
    for step, outcome in outcomes:
        for reason in step.because:
            results.setdefault(reason, set()).add(outcome.result)
    found = ((row, results.get(row.id, set())) for row in plan.findings)
    return [row for row, ended in found if "refused" in ended and "unknown" not in ended]
