# SPDX-License-Identifier: Apache-2.0
"""trueup capacity drain: where the servers of a host could go. It proposes, and moves nothing."""

import argparse

from trueup.capacity.relocation import drained, relieved
from trueup.capacity.table import MOVES_COLUMNS, moves_table
from trueup.cli.commands.capacity import NOT_ASKED
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.reconcile.collect import collect
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.wording import counted


class CapacityDrainCommand(CloudVerb):
    """Say where each server of a host could go, or why nowhere, in an order that works.

    Nothing is moved and nothing is written.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "drained", metavar="HOST", nargs="?", help="the compute host, as Nova names it"
        )
        parser.add_argument(
            "--over-full",
            action="store_true",
            help="instead, the servers to move from hosts of which more is held than they have",
        )
        add_from_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return MOVES_COLUMNS

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if bool(arguments.drained) == arguments.over_full:
            raise OptionRefused("--over-full", "name a host, or use this option, and not both")

    def act(self, arguments: argparse.Namespace) -> Table:
        facts = self._facts(arguments)
        known = sorted({row.host for row in facts.compute_nodes})
        if arguments.drained and arguments.drained not in known:
            named = ", ".join(known)
            raise OptionRefused("HOST", f"{arguments.drained} is no compute host; known: {named}")
        moves = drained(facts, arguments.drained) if arguments.drained else relieved(facts)
        placed = sum(1 for move in moves if move.to is not None)
        certain = sum(1 for move in moves if move.certain)
        say(f"{certain} of {counted(len(moves), 'server')} can go to another host, in this order.")
        if placed > certain:
            say(f"Perhaps {placed - certain} more: the remark says what was not checked.")
        say(NOT_ASKED)
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        elif placed < len(moves):
            self.exit_code = ExitCode.FINDINGS
        return moves_table(moves)

    def _facts(self, arguments: argparse.Namespace) -> Facts:
        if arguments.snapshot:
            return load(arguments.snapshot).facts
        with self.cloud(arguments) as cloud, progress() as report:
            return collect(cloud, report)
