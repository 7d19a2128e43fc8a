# SPDX-License-Identifier: Apache-2.0
"""trueup snapshot: a cloud's facts in a file, and what such a file holds."""

import argparse
import secrets
import shlex
from pathlib import Path

from trueup.cli.sources import FactsVerb, living_facts
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import progress, say
from trueup.cli.terminal.state import state_folder
from trueup.cli.verb import Verb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import audit
from trueup.reconcile.collect import with_holdings
from trueup.reconcile.copies.anonymize import anonymized
from trueup.reconcile.copies.snapshot import Snapshot, load, save
from trueup.reconcile.files import FileUnwritable, refuse_unwritable, write_once
from trueup.reconcile.plan import consumers_of
from trueup.reconcile.report.coverage import COVERAGE_COLUMNS, coverage_table
from trueup.reconcile.report.tables import Table
from trueup.reconcile.verdicts import AuditOptions

KEY_FILE = "anonymize.key"
KEY_BYTES = 32


class SnapshotSaveCommand(FactsVerb):
    """Read a cloud and keep what was read in a file, for 'trueup audit --from FILE'."""

    COLUMNS = COVERAGE_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("file", metavar="FILE", type=Path, help="where to keep it")
        parser.add_argument(
            "--anonymize",
            action="store_true",
            help="replace names, projects, users and uuids by pseudonyms",
        )
        add_state_option(parser)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if arguments.state_dir != state_folder() and not arguments.anonymize:
            raise OptionRefused(
                "--state-dir",
                "it would be ignored: it is where the key of --anonymize is kept; leave it out",
            )

    def act(self, arguments: argparse.Namespace) -> Table:
        refuse_unwritable(arguments.file)
        with self.cloud(arguments) as cloud, progress() as report:
            facts = living_facts(cloud, arguments, report)
            # A plan from this file needs owners and generations of all possible findings.
            found = audit(facts, AuditOptions(grace_seconds=0)).findings
            facts = with_holdings(facts, cloud, consumers_of(found))
        if arguments.anonymize:
            facts = anonymized(facts, _key(arguments.state_dir))
        save(Snapshot(facts, arguments.anonymize), arguments.file)
        say(f"Next: trueup audit --from {shlex.quote(str(arguments.file))}")
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        return coverage_table(facts)


class SnapshotShowCommand(Verb):
    """Show what a snapshot holds: which sources answered, when, and with how many rows."""

    COLUMNS = COVERAGE_COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("file", metavar="FILE", type=Path, help="a snapshot")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        snapshot = load(arguments.file)
        facts = snapshot.facts
        names = ", under pseudonyms" if snapshot.anonymized else ""
        say(
            f"Taken at {facts.taken_at:%Y-%m-%d %H:%M:%S} UTC{names}: "
            f"{len(facts.instances)} instances, {len(facts.compute_nodes)} compute nodes, "
            f"{len(facts.migrations)} migrations, {len(facts.providers)} providers, "
            f"{len(facts.consumers)} consumers."
        )
        if not facts.coverage.complete:
            self.exit_code = ExitCode.INCOMPLETE
        return coverage_table(facts)


def _key(folder: Path) -> bytes:
    """The secret that makes the pseudonyms of this operator the same every time.

    Raises FileUnwritable.
    """
    path = folder / KEY_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_once(path, secrets.token_bytes(KEY_BYTES))
        return path.read_bytes()
    except OSError as error:
        raise FileUnwritable(str(path), error.strerror or str(error)) from error
