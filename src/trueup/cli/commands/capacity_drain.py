# SPDX-License-Identifier: Apache-2.0
"""trueup capacity drain: where the servers of a host could go. It proposes, and moves nothing."""

import argparse
from collections.abc import Iterable

from trueup.capacity import words
from trueup.capacity.asked import Asked, NotAskable, asked_of, flavors_in_use, gaps_of
from trueup.capacity.fragments import gains
from trueup.capacity.relocation import drained, relieved
from trueup.capacity.table import GAINS_COLUMNS, MOVES_COLUMNS, gains_table, moves_table
from trueup.cli.commands.capacity import NOT_ASKED, with_traits
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
from trueup.reconcile.collect import collect
from trueup.reconcile.copies.snapshot import load
from trueup.reconcile.facts import Facts, Flavor
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.wording import counted


class CapacityDrainCommand(CloudVerb):
    """Say where servers of a host could go, or why nowhere, in an order that works.

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
        parser.add_argument(
            "--for",
            dest="flavor",
            metavar="FLAVOR",
            help="instead, at most ten servers whose moves make most room for this flavor",
        )
        add_from_option(parser)
        return parser

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return GAINS_COLUMNS if arguments.flavor else MOVES_COLUMNS

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if sum(map(bool, (arguments.drained, arguments.over_full, arguments.flavor))) != 1:
            raise OptionRefused("HOST", "name a host, or --over-full, or --for, and only one")

    def act(self, arguments: argparse.Namespace) -> Table:
        facts, flavors = self._read(arguments)
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        if arguments.flavor:
            return self._for(arguments.flavor, facts, flavors)
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
        if facts.coverage.complete and placed < len(moves):
            self.exit_code = ExitCode.FINDINGS
        return moves_table(moves)

    def _for(self, name: str, facts: Facts, flavors: Iterable[Flavor]) -> Table:
        known = {flavor.name: flavor for flavor in flavors}
        if name not in known:
            raise OptionRefused("--for", f"{name} is no flavor; known: {', '.join(sorted(known))}")
        asked = asked_of(known[name], {})
        if isinstance(asked, NotAskable):
            raise OptionRefused("--for", f"no server can be made with it: {in_words(asked.reason)}")
        found = gains(facts, asked)
        say(f"{found.fits} of {name} fit now.")
        if found.moves:
            number = counted(len(found.moves), "move")
            say(f"{found.moves[-1].fits} fit after {number}, in this order.")
        else:
            say("No moves were found after which more fit.")
        if gaps := gaps_of(asked, facts):
            say(f"At most so many, because this is not counted: {words.not_counted(gaps)}")
        say("Servers with NUMA cells, ports with resources or PCI devices are left where they are.")
        say(NOT_ASKED)
        return gains_table(found)

    def _read(self, arguments: argparse.Namespace) -> tuple[Facts, Iterable[Flavor]]:
        """The facts, and the flavors that --for may name."""
        if arguments.snapshot:
            facts = load(arguments.snapshot).facts
            return facts, flavors_in_use(facts)
        with self.cloud(arguments) as cloud, progress() as report:
            facts = collect(cloud, report)
            flavors = cloud.nova.flavors() if arguments.flavor else ()
            asked = (asked_of(row, {}) for row in (*flavors, *flavors_in_use(facts)))
            kinds = [kind for kind in asked if isinstance(kind, Asked)]
            return with_traits(cloud, facts, kinds), flavors
