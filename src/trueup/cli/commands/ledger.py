# SPDX-License-Identifier: Apache-2.0
"""trueup ledger export and import: a whole ledger over Placement's API, in a file."""

import argparse
from pathlib import Path

from trueup.cli.terminal.options import refuse_ways_of_reading
from trueup.cli.terminal.progress import progress, say
from trueup.cli.verb import CloudVerb
from trueup.reconcile.copies.ledger_copy import LedgerCopy, load, read, save, write
from trueup.reconcile.files import refuse_unwritable
from trueup.reconcile.report.tables import Table

LEDGER_COLUMNS = ("What", "Count")


class LedgerVerb(CloudVerb):
    """A command that only uses Placement's API."""

    COLUMNS = LEDGER_COLUMNS

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        refuse_ways_of_reading(arguments)


class LedgerExportCommand(LedgerVerb):
    """Keep the whole ledger of a Placement in a file. Nothing else should write meanwhile."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("file", metavar="FILE", type=Path, help="where to keep it")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        refuse_unwritable(arguments.file)
        with self.cloud(arguments) as cloud, progress() as report:
            copy = read(cloud, report)
        save(copy, arguments.file)
        return _table(copy)


class LedgerImportCommand(LedgerVerb):
    """Write an exported ledger to a Placement that is empty or has the same ledger."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("file", metavar="FILE", type=Path, help="what 'export' kept")
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        copy = load(arguments.file)
        with self.cloud(arguments) as cloud, progress() as report:
            written = write(copy, cloud, report)
            endpoint = cloud.placement.endpoint()
        if written:
            say(f"Written to {endpoint}, and read again: it holds what the file says.")
        else:
            say("Placement has the same ledger already; nothing is written.")
        return _table(copy)


def _table(copy: LedgerCopy) -> Table:
    inventories = sum(len(provider.inventories) for provider in copy.providers)
    return LEDGER_COLUMNS, [
        ("providers", len(copy.providers)),
        ("inventories", inventories),
        ("consumers", len(copy.consumers)),
    ]
