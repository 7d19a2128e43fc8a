# SPDX-License-Identifier: Apache-2.0
"""trueup journal: which runs there were, how the steps of one ended, and whether that is proven."""

import argparse
from collections.abc import Sized
from pathlib import Path

from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import say
from trueup.cli.trail import Trail, add_send_option, sink
from trueup.cli.verb import Verb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.report.tables import (
    PROOF_COLUMNS,
    RUN_COLUMNS,
    RUNS_COLUMNS,
    Columns,
    Table,
    proof_table,
    run_table,
    runs_table,
)
from trueup.reconcile.runs.journals import find, read, runs
from trueup.reconcile.runs.proof import Evidence, prove, received_in

# Proofs that may be demanded of each run, and the option that names what they are checked with.
_DEMANDS = {"signed": "signers", "sent": "received"}


class JournalCommand(Verb):
    """List the runs that have a journal, or the steps of one run."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("run", metavar="RUN", nargs="?", help="one run")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="check that every journal, or that of RUN, is whole, and who signed it",
        )
        parser.add_argument(
            "--signers",
            metavar="FILE",
            type=Path,
            help="with --verify: who may sign, a file of allowed signers as ssh-keygen reads it",
        )
        parser.add_argument(
            "--received",
            metavar="FILE",
            type=Path,
            help="with --verify: compare with the messages of --send-to in this file",
        )
        for option, needed in _DEMANDS.items():
            parser.add_argument(
                f"--{option}",
                action="store_true",
                help=f"with --{needed}: a run that is not {option}, to its end, is a failure",
            )
        add_state_option(parser)
        add_send_option(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if arguments.send_to and (arguments.verify or not arguments.run):
            raise OptionRefused("--send-to", "it sends one run: name RUN, and leave --verify out")
        for option in ("signers", "received"):
            if getattr(arguments, option) and not arguments.verify:
                raise OptionRefused(f"--{option}", "it is only of use with --verify")
        for option, needed in _DEMANDS.items():
            if getattr(arguments, option) and not getattr(arguments, needed):
                raise OptionRefused(f"--{option}", f"it needs --{needed} FILE")

    def columns(self, arguments: argparse.Namespace) -> Columns:
        if arguments.verify:
            return PROOF_COLUMNS
        return RUN_COLUMNS if arguments.run else RUNS_COLUMNS

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.verify:
            return self._proofs(arguments)
        if arguments.run:
            return self._run(arguments)
        found = runs(arguments.state_dir)
        _tell_none(found, arguments.state_dir)
        return runs_table(found)

    def _run(self, arguments: argparse.Namespace) -> Table:
        journal = read(arguments.run, arguments.state_dir)
        trail = Trail(tuple(map(sink, arguments.send_to)))
        with trail.of(journal, arguments.state_dir) as send:
            for pair in journal.attempted:
                send(pair)
        return run_table(journal)

    def _proofs(self, arguments: argparse.Namespace) -> Table:
        folder = arguments.state_dir
        received = received_in(arguments.received) if arguments.received else {}
        run = arguments.run or ""
        if run and run not in received:
            run = find(run, folder)
        evidence = Evidence(arguments.signers, received, arguments.signed, arguments.sent)
        proofs = list(prove(folder, evidence, run))
        if any(proof.fault or proof.lacking for proof in proofs):
            self.exit_code = ExitCode.FINDINGS
        _tell_none(proofs, folder)
        return proof_table(proofs)


def _tell_none(found: Sized, folder: Path) -> None:
    if not found:
        say(f"There is no run in {folder}.")
