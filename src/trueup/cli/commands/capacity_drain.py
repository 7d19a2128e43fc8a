# SPDX-License-Identifier: Apache-2.0
"""trueup capacity drain: where the servers of a host could go. It proposes, and moves nothing."""

import argparse
from collections.abc import Iterable
from functools import partial

from trueup.capacity import words
from trueup.capacity.asked import Asked, NotAskable, asked_of, flavors_in_use, gaps_of
from trueup.capacity.fragments import amounts_of, gains
from trueup.capacity.relocation import drained, relieved
from trueup.capacity.table import GAINS_COLUMNS, MOVES_COLUMNS, gains_table, moves_table
from trueup.cli.commands.capacity import (
    Kinds,
    gathered,
    no_host,
    tell_not_asked,
    tell_unread,
    tell_without_pcpu,
)
from trueup.cli.judging import default_options
from trueup.cli.sources import add_from_option
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import say
from trueup.cli.verb import CloudVerb
from trueup.exit_codes import ExitCode
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
            help="instead, the servers to move off hosts that are over-full",
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
        ask = partial(_kinds, arguments)
        seen, kinds = gathered(self, arguments, default_options(), ask, groups=True)
        facts = seen.facts
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        if arguments.flavor:
            return _for(kinds[0], facts)
        host = arguments.drained
        if host and host not in {row.host for row in facts.compute_nodes}:
            raise OptionRefused("HOST", no_host(host, facts))
        moves = drained(facts, host) if host else relieved(facts)
        placed = sum(1 for move in moves if move.to is not None)
        certain = sum(1 for move in moves if move.certain)
        if moves:
            number = counted(len(moves), "server")
            say(f"{certain} of {number} can go to another host, in this order.")
        else:
            none = "No host" if facts.coverage.complete else "No host that was read"
            say(f"{host} has no servers." if host else f"{none} has servers to move.")
        if placed > certain:
            say(f"Perhaps {placed - certain} more: the remark says what was not checked.")
        tell_without_pcpu(move.binds or {} for move in moves)
        tell_not_asked(facts)
        tell_unread(facts)
        if self.exit_code is ExitCode.CLEAN and placed < len(moves):
            self.exit_code = ExitCode.FINDINGS
        return moves_table(moves)


def _for(asked: Asked | NotAskable, facts: Facts) -> Table:
    if isinstance(asked, NotAskable):
        raise OptionRefused("--for", f"no server can be made with it: {in_words(asked.reason)}")
    found = gains(facts, asked)
    say(f"{found.fits} of {asked.name} fit now.")
    if found.moves:
        number = counted(len(found.moves), "move")
        say(f"{found.moves[-1].fits} fit after {number}, in this order.")
    else:
        say("No moves were found after which more fit.")
    if gaps := gaps_of(asked, facts):
        say(f"At most so many, because this is not counted: {words.not_counted(gaps)}")
    if "PCPU" in amounts_of(asked):
        say(words.WITHOUT_PCPU)
    kept = "NUMA cells, ports with resources or PCI devices"
    if facts.server_groups is not None:
        kept = "NUMA cells, ports with resources, PCI devices or an affinity group"
    say(f"Servers with {kept} are left where they are.")
    tell_not_asked(facts)
    tell_unread(facts)
    return gains_table(found)


def _kinds(arguments: argparse.Namespace, facts: Facts, flavors: Iterable[Flavor]) -> Kinds:
    """The flavor of --for, and then those of the servers that may move. Raises OptionRefused."""
    known = {flavor.name: flavor for flavor in flavors}
    if arguments.flavor and arguments.flavor not in known:
        names = ", ".join(sorted(known))
        raise OptionRefused("--for", f"{arguments.flavor} is no flavor; known: {names}")
    wanted = (known[arguments.flavor],) if arguments.flavor else ()
    return tuple(asked_of(flavor, {}) for flavor in (*wanted, *flavors_in_use(facts)))
