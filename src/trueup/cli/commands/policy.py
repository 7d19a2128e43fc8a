# SPDX-License-Identifier: Apache-2.0
"""trueup policy: check a policy, and show what the policies in force say of a plan."""

import argparse
from pathlib import Path

from trueup.cli.outcomes import add_policy_option
from trueup.cli.terminal.progress import say
from trueup.cli.verb import Verb
from trueup.exit_codes import ExitCode
from trueup.reconcile.clock import now
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.plan.policy import Budget, Policy
from trueup.reconcile.plan.policy_faults import faults_of
from trueup.reconcile.plan.policy_file import MACHINE, in_force, unreadable
from trueup.reconcile.plan.policy_file import load as load_policy
from trueup.reconcile.plan.rulings import rulings_of
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import (
    RULES_COLUMNS,
    RULINGS_COLUMNS,
    Table,
    rules_table,
    rulings_table,
)
from trueup.reconcile.wording import counted


class PolicyCheckCommand(Verb):
    """Check a policy, and show its rules in the order in which they are asked."""

    COLUMNS = RULES_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "policy",
            metavar="FILE",
            type=Path,
            nargs="?",
            default=MACHINE,
            help="the policy (default: %(default)s)",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        policy = load_policy(arguments.policy)
        say(f"{arguments.policy} can be used.")
        if policy.approval.required:
            say(f"Each plan needs the approval of {counted(policy.approval.required, 'person')}.")
        if budget := policy.automatic:
            _tell_budget(budget)
        _tell_closed(policy, str(arguments.policy))
        for reason in unreadable(policy):
            say(f"On this machine {in_words(reason)}.")
        for fault in faults_of(policy):
            self.exit_code = ExitCode.FINDINGS
            say(f"Correct this: {in_words(fault)}.")
        return rules_table(policy)


class PolicyShowCommand(Verb):
    """Show what the policies in force say of each step of a plan, and which rule decides."""

    COLUMNS = RULINGS_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="PLAN", type=Path, help="a file of 'trueup plan --out'")
        add_policy_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan, policies = load(arguments.plan), in_force(arguments.policy)
        if not policies:
            say(f"No policy is in force: there is no {MACHINE}, and --policy names none.")
        for named in policies:
            _tell_closed(named.policy, named.path)
        rulings = rulings_of(plan, policies)
        if any(ruling.decision == "never" for ruling in rulings.values()):
            self.exit_code = ExitCode.FINDINGS
        return rulings_table(plan, rulings)


def _tell_budget(budget: Budget) -> None:
    say(
        "'trueup watch --repair' may write steps that a rule lets be automatic: of findings that "
        f"{budget.rounds} rounds had, at most {counted(budget.subjects_per_hour, 'subject')} an "
        f"hour and {budget.subjects_per_day} a day. It stops when there are more findings than "
        f"{budget.findings_share:.1%} of the consumers, and when {budget.pause} is there."
    )


def _tell_closed(policy: Policy, path: str) -> None:
    if reason := policy.closed(now()):
        say(f"{path} is closed now: {in_words(reason)}.")
