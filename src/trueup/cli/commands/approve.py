# SPDX-License-Identifier: Apache-2.0
"""trueup approve: sign a plan with an SSH key."""

import argparse
from pathlib import Path

from trueup.cli.terminal.progress import say
from trueup.cli.verb import Verb
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.plan.plan_file import load
from trueup.reconcile.report.tables import PLAN_COLUMNS, Table, plan_table
from trueup.reconcile.runs.approvals import approve, beside


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
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        plan, path = load(arguments.plan), beside(arguments.plan)
        refuse_unwritable(path)
        approve(plan, arguments.plan, arguments.key)
        say(f"Plan {plan.id} is approved. The signature is in {path}: keep it beside the plan.")
        return plan_table(plan)
