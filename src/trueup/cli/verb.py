# SPDX-License-Identifier: Apache-2.0
"""What every command has: a cloud, one table, one exit code, errors in one line."""

import argparse
import logging
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from cliff.columns import FormattableColumn
from cliff.lister import Lister

from trueup.cli.exits import explained, unforeseen
from trueup.cli.terminal.given import remembered
from trueup.cli.terminal.options import (
    NOVA_CONF,
    nova_conf_of,
    refuse_columns,
    refuse_ignored,
    refuse_meaningless,
)
from trueup.cli.terminal.output import discard_output
from trueup.cli.terminal.progress import be_quiet, complain, interrupted
from trueup.cli.terminal.state import state_folder
from trueup.cli.terminal.tables import FittedTable
from trueup.cli.terminal.usage import ShortErrors
from trueup.exit_codes import ExitCode
from trueup.reconcile.report.tables import Cell, Columns, EvidenceCell, Table
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import (
    Databases,
    from_names,
    from_nova_conf,
    placement_database,
)
from trueup.reconcile.sources.database import ANSWER_SECONDS
from trueup.reconcile.sources.libvirt import PATTERN, Hypervisors
from trueup.reconcile.sources.nova.databases import CellOptions

LOG = logging.getLogger(__name__)
# Each of them names a cloud, for commands that read no nova.conf.
_CLOUD_VARIABLES = ("OS_CLOUD", "OS_AUTH_URL")
_PLAIN_FORMATS = ("csv", "value")


class Labelled(FormattableColumn[Mapping[str, Any]]):
    """A cell with several labelled values: one line each in text, a mapping in JSON."""

    def __init__(self, value: Mapping[str, Any], words: Mapping[str, str]) -> None:
        super().__init__(value)
        self._words = words

    def human_readable(self) -> str:
        return "\n".join(f"{label}: {value}" for label, value in self._words.items())

    def machine_readable(self) -> Mapping[str, Any]:
        return dict(self._value)


def _shown(cell: Cell, plain: bool) -> Any:
    """A cell for cliff; `plain` formats (csv, value) have text only."""
    if isinstance(cell, EvidenceCell):
        value, words = cell.evidence, cell.words
    elif isinstance(cell, Mapping):
        value = words = cell
    else:
        return cell
    if plain:
        return "; ".join(f"{label}: {text}" for label, text in words.items())
    return Labelled(value, words)


class Verb(ShortErrors, Lister):
    """A command that prints one table and ends with a code of the table."""

    COLUMNS: Columns = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self._parser = parser
        parser.add_argument(
            "-q", "--quiet", action="store_true", help="print the result, and errors; nothing else"
        )
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        self.exit_code = ExitCode.CLEAN
        self._acted = False
        if parsed_args.quiet:
            be_quiet(True)
        with remembered(parsed_args, self._parser):
            return self._explained_run(parsed_args)

    def _explained_run(self, parsed_args: argparse.Namespace) -> int:
        try:
            self.check(parsed_args)
            super().run(parsed_args)
            self.app.stdout.flush()
        except KeyboardInterrupt:
            return interrupted()
        except Exception as error:
            if self._acted and isinstance(error, BrokenPipeError):
                # The reader of the table stopped reading (`trueup plan | head`): all work is done.
                discard_output()
                return int(self.exit_code)
            known = explained(error)
            if known is None and self.app_args and self.app_args.debug:
                raise
            self.exit_code, sentence = known or (ExitCode.INTERNAL_ERROR, unforeseen(error))
            complain(sentence)
        return int(self.exit_code)

    def check(self, arguments: argparse.Namespace) -> None:
        """Refuse options that make no sense, before any work. Raises OptionRefused."""
        refuse_meaningless(arguments)
        asked = [*arguments.columns, *(arguments.sort_columns or [])]
        refuse_columns(asked, self.columns(arguments))

    def columns(self, arguments: argparse.Namespace) -> Columns:
        """The columns of the table that `act` returns."""
        return self.COLUMNS

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        columns, rows = self.act(parsed_args)
        self._acted = True
        plain = parsed_args.formatter in _PLAIN_FORMATS
        return columns, [tuple(_shown(cell, plain) for cell in row) for row in rows]

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Any, rows: Any) -> int:
        if parsed_args.formatter == "table":
            self.formatter = FittedTable()
        return super().produce_output(parsed_args, column_names, rows)

    @abstractmethod
    def act(self, arguments: argparse.Namespace) -> Table:
        """Do the work, set `exit_code`, return the table."""


class CloudVerb(Verb):
    """A command that talks to a cloud."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        where = parser.add_argument_group("which cloud")
        _add_nova_options(where)
        _add_other_options(where)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        refuse_ignored(arguments)

    @contextmanager
    def cloud(self, arguments: argparse.Namespace) -> Iterator[Cloud]:
        """The cloud that the options name, connected."""
        placement_url = arguments.placement_database
        if arguments.placement_conf:
            placement_url = placement_database(arguments.placement_conf)
        seconds = arguments.cell_timeout or ANSWER_SECONDS
        cells = CellOptions(dict(arguments.cell_database), seconds)
        cloud = self.connected(arguments, Databases(cells, placement_url))
        if arguments.libvirt or arguments.libvirt_uri:
            uris = dict(arguments.libvirt_uri)
            cloud = replace(cloud, hypervisors=Hypervisors(arguments.libvirt or PATTERN, uris))
        try:
            yield cloud
        finally:
            cloud.close()

    def connected(self, arguments: argparse.Namespace, databases: Databases) -> Cloud:
        """The cloud of nova.conf, of clouds.yaml or of the OS_* environment."""
        if arguments.nova_api or arguments.nova_database:
            nova_url = None if arguments.nova_api else arguments.nova_database
            return from_names(nova_url, arguments.os_cloud, databases)
        path = nova_conf_of(arguments.nova_conf)
        if named := " and ".join(name for name in _CLOUD_VARIABLES if os.environ.get(name)):
            LOG.info(
                "%s of the environment is not used: %s says which cloud it is. "
                "To use it, name --nova-api or --nova-database.",
                named,
                path,
            )
        return from_nova_conf(path, databases)


def _add_nova_options(where: argparse._ArgumentGroup) -> None:
    where.add_argument(
        "--nova-conf",
        metavar="FILE",
        type=Path,
        help="nova.conf with [api_database] and [placement], as nova-conductor has it "
        f"(default: $TRUEUP_NOVA_CONF or {NOVA_CONF})",
    )
    where.add_argument(
        "--nova-database",
        metavar="URL",
        help="Nova's API database, instead of nova.conf; Placement then comes from "
        "--os-cloud or the OS_* environment",
    )
    where.add_argument(
        "--nova-api",
        action="store_true",
        help="read Nova over its API instead of its databases; all services then come from "
        "--os-cloud or the OS_* environment",
    )
    where.add_argument("--os-cloud", metavar="NAME", help="a cloud of clouds.yaml")

    where.add_argument(
        "--cell-database",
        metavar="NAME=URL",
        type=_named_url,
        action="append",
        default=[],
        help="the database of a cell (name or uuid), instead of the one in its cell mapping",
    )
    where.add_argument(
        "--cell-timeout",
        metavar="SECONDS",
        type=float,
        help="how long to wait for a database before it counts as silent "
        f"(default: {ANSWER_SECONDS})",
    )


def _add_other_options(where: argparse._ArgumentGroup) -> None:
    ledger = where.add_mutually_exclusive_group()
    ledger.add_argument(
        "--placement-database",
        metavar="URL",
        help="read the ledger from Placement's database; writes still go over its API",
    )
    ledger.add_argument(
        "--placement-conf",
        metavar="FILE",
        type=Path,
        help="read the ledger from the database that this placement.conf names",
    )

    where.add_argument(
        "--libvirt",
        metavar="PATTERN",
        nargs="?",
        const=PATTERN,
        help=f"ask the hypervisors too; {{host}} stands for each host (default: {PATTERN})",
    )
    where.add_argument(
        "--libvirt-uri",
        metavar="HOST=URI",
        type=_named_url,
        action="append",
        default=[],
        help="the URI of a host's hypervisor, instead of the one from --libvirt",
    )


def _named_url(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not (name and equals and url):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=URL")
    return name, url


def add_state_option(parser: argparse._ActionsContainer) -> None:
    """--state-dir, for the commands that read or write journals."""
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        type=Path,
        default=state_folder(),
        help="where journals are kept (default: $TRUEUP_STATE_DIR, or trueup in $XDG_STATE_HOME)",
    )
