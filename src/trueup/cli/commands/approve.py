# SPDX-License-Identifier: Apache-2.0
"""trueup approve: sign a plan with an SSH key."""

import argparse
import os
from pathlib import Path

from trueup.cli.outcomes import add_policy_option
from trueup.cli.terminal.progress import complain, say
from trueup.cli.verb import Verb
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.plan.policy import SIGNERS, ApprovalTerms
from trueup.reconcile.plan.policy_file import in_force
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import PLAN_COLUMNS, Table, plan_table
from trueup.reconcile.runs.approvals import (
    ApprovalFileUnreadable,
    Signed,
    approve,
    beside,
    doubt_of,
)


class ApproveCommand(Verb):
    """Approve a plan: sign its name and its digest with your SSH key, and show what was signed."""

    COLUMNS = PLAN_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("plan", metavar="FILE", type=Path, help="a file of 'trueup plan --out'")
        parser.add_argument(
            "--key",
            metavar="FILE",
            type=Path,
            required=True,
            help="your private key; or your public key, whose private key ssh-agent has",
        )
        add_policy_option(parser)
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan, path = load(arguments.plan), beside(arguments.plan)
        refuse_unwritable(path)
        policies = in_force(arguments.policy)
        ours = approve(plan, arguments.plan, arguments.key)
        say(f"Plan {plan.id} is approved. The signature is in {path}: keep it beside the plan.")
        terms = [named.policy.approval for named in policies]
        for each in terms or ([ApprovalTerms()] if os.access(SIGNERS, os.R_OK) else []):
            _tell_doubt(ours, each)
        return plan_table(plan)


def _tell_doubt(ours: Signed, terms: ApprovalTerms) -> None:
    """Say at once what `apply` would say of a signature, with the signers of this machine."""
    try:
        doubt = doubt_of(ours, terms)
    except ApprovalFileUnreadable as error:
        say(f"Whether it counts is not known here: {error.path} cannot be read: {error.reason}.")
        return
    if doubt and doubt.name == "approval-of-planner":
        say(f"It counts, but {in_words(doubt)}.")
    elif doubt:
        complain(f"by the signers in {terms.signers} it does not count: {in_words(doubt)}.")
