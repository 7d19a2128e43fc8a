# SPDX-License-Identifier: Apache-2.0
"""The `trueup` program: its commands, by name."""

import argparse
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import EntryPoint, version
from typing import Any

import autopage.argparse
from cliff.app import App
from cliff.commandmanager import CommandManager
from cliff.help import HelpCommand, HelpExit

from trueup.cli.terminal.extras import extra_of, how_to_install
from trueup.cli.terminal.progress import be_quiet, complain, interrupted, say
from trueup.cli.terminal.usage import no_such_command
from trueup.exit_codes import ExitCode

QUIET = -1
# How often -v was given → the levels of our own log, and of the libraries'. A library that logs an
# error raises it as well, and the command says it in a sentence.
_LEVELS = {
    QUIET: (logging.ERROR, logging.CRITICAL),
    0: (logging.WARNING, logging.CRITICAL),
    1: (logging.INFO, logging.INFO),
}
# By what one wants. Loaded when called, so that each half works without what the other needs.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "Find and repair": {
        "audit": "trueup.cli.commands.audit:AuditCommand",
        "plan": "trueup.cli.commands.plan:PlanCommand",
        "plan show": "trueup.cli.commands.plan_show:PlanShowCommand",
        "policy check": "trueup.cli.commands.policy:PolicyCheckCommand",
        "policy show": "trueup.cli.commands.policy:PolicyShowCommand",
        "approve": "trueup.cli.commands.approve:ApproveCommand",
        "rehearse": "trueup.cli.commands.rehearse:RehearseCommand",
        "apply": "trueup.cli.commands.apply:ApplyCommand",
        "verify": "trueup.cli.commands.verify:VerifyCommand",
        "undo": "trueup.cli.commands.undo:UndoCommand",
        "journal": "trueup.cli.commands.journal:JournalCommand",
    },
    "Understand": {
        "explain": "trueup.cli.commands.explain:ExplainCommand",
        "why": "trueup.cli.commands.why:WhyCommand",
        "capacity": "trueup.cli.commands.capacity:CapacityCommand",
        "capacity drain": "trueup.cli.commands.capacity_drain:CapacityDrainCommand",
        "quota": "trueup.cli.commands.quota:QuotaCommand",
        "defects": "trueup.cli.commands.defects:DefectsCommand",
        "report": "trueup.cli.commands.report:ReportCommand",
        "page": "trueup.cli.commands.page:PageCommand",
        "snapshot save": "trueup.cli.commands.snapshot:SnapshotSaveCommand",
        "snapshot show": "trueup.cli.commands.snapshot:SnapshotShowCommand",
        "demo": "trueup.cli.commands.demo:DemoCommand",
    },
    "Runbooks": {
        "retire": "trueup.cli.commands.retire:RetireCommand",
        "rekey": "trueup.cli.commands.rekey:RekeyCommand",
        "merge": "trueup.cli.commands.merge:MergeCommand",
        "ghosts": "trueup.cli.commands.ghosts:GhostsCommand",
        "rebuild": "trueup.cli.commands.rebuild:RebuildCommand",
        "nova-manage": "trueup.cli.nova_manage.program:NovaManageCommand",
        "ledger export": "trueup.cli.commands.ledger:LedgerExportCommand",
        "ledger import": "trueup.cli.commands.ledger:LedgerImportCommand",
    },
    "Watch": {"watch": "trueup.cli.commands.watch:WatchCommand"},
    "Serve": {
        "serve": "trueup.cli.commands.serve:ServeCommand",
        "load": "trueup.cli.commands.load:LoadCommand",
        "shadow": "trueup.cli.commands.shadow:ShadowCommand",
    },
    "This program": {"complete": "trueup.cli.commands.complete:CompleteCommand"},
}
COMMANDS = {name: target for group in GROUPS.values() for name, target in group.items()}
_NAME_WIDTH = max(map(len, COMMANDS))
# The command whose options have names of the program's own options, as --verbose.
_WITH_NAMES_OF_OURS = "nova-manage"
# What a command does, without what follows about how.
_END = re.compile(r"[.;:](?:\s|$)")
_OPTIONS = """\
Options before COMMAND: --version, -v or -q (say more, or less), --log-file FILE, --debug.
`trueup COMMAND --help` lists the options of a command."""
# No word of a command line begins with it: the kernel ends each word there.
_KEPT = "\0"


def _own_words(argv: list[str]) -> list[str]:
    """The words of a command line that only the command itself may understand."""
    before = next((at for at, word in enumerate(argv) if word == _WITH_NAMES_OF_OURS), len(argv))
    return argv[before + 1 :]


class _NotInstalled:
    """What the list of all commands shows for one that lacks a library, as cliff asks for it."""

    deprecated = False

    def __init__(self, extra: str) -> None:
        self.extra = extra

    def __call__(self, app: App, options: None) -> "_NotInstalled":
        return self

    def get_description(self) -> str:
        return f"(needs trueup[{self.extra}])"


class _Listed(EntryPoint):
    """A command in the list of all commands."""

    def load(self) -> Any:
        try:
            return super().load()
        except ModuleNotFoundError as missing:
            return _NotInstalled(extra_of(self.name, missing))


class Commands(CommandManager):
    """Our own commands, and no plugins."""

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """What cliff lists."""
        for name, entry in self.commands.items():
            yield name, _Listed(name, COMMANDS[name], "trueup") if name in COMMANDS else entry

    def load_commands(self, namespace: str) -> None:
        for name, target in COMMANDS.items():
            self.commands[name] = EntryPoint(name, target, namespace)

    def add_command(self, name: str, command_class: Any) -> None:
        """Add a command of cliff's own, unless we have one with this name."""
        if name not in COMMANDS:
            super().add_command(name, _Help if command_class is HelpCommand else command_class)


class _Help(HelpCommand):
    """The help of one command, or of the program."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.cmd:
            return int(super().take_action(parsed_args))
        assert isinstance(self.app, Trueup)
        self.app.list_commands()
        return 0


class Trueup(App):
    """The program."""

    NAME = "trueup"
    LOG = logging.getLogger(NAME)
    # Nothing of libraries, unless -v is given: what matters is said by the command itself.
    DEFAULT_VERBOSE_LEVEL = 0

    def __init__(self) -> None:
        super().__init__(
            description="Keeps the ledger of an OpenStack cloud true: audit, plan, apply, undo.",
            version=version("trueup"),
            command_manager=Commands("trueup"),
            deferred_help=True,
        )

    def build_option_parser(self, *arguments: Any, **options: Any) -> argparse.ArgumentParser:
        """cliff's own options, in which -q is less than nothing at all.

        They are found anywhere in a command line. They have to be written out, because an
        abbreviation may be an option of the command: `trueup page --log` is not `--log-file`.
        """
        options["argparse_kwargs"] = {"allow_abbrev": False}
        parser = super().build_option_parser(*arguments, **options)
        for action in parser._actions:
            if "--quiet" in action.option_strings:
                action.const = QUIET
        return parser

    def print_help_if_requested(self) -> None:
        """List all commands and end, if that is asked for; cliff lists them in one alphabet."""
        if self.options.deferred_help:
            self.list_commands()
            raise HelpExit

    def list_commands(self) -> None:
        """Print how the program is called, and its commands by what one wants."""
        listed = dict(self.command_manager)
        with autopage.argparse.help_pager(self.stdout) as out:
            out.write(f"usage: trueup [options] COMMAND ...\n\n{self.parser.description}\n\n")
            for title, group in GROUPS.items():
                out.write(f"{title}:\n")
                for name in group:
                    described = listed[name].load()(self, None).get_description()
                    out.write(f"  {name:<{_NAME_WIDTH}}  {_END.split(described)[0]}\n")
            out.write(f"\n{_OPTIONS}\n")

    def run(self, argv: list[str]) -> int:
        """Run a command line. Options of nova-manage are not taken for the program's own."""
        kept = [_KEPT + word for word in _own_words(argv)]
        return super().run([*argv[: len(argv) - len(kept)], *kept])

    def configure_logging(self) -> None:
        """Log to standard error, and to a file if one is named, at the level -v asks for."""
        be_quiet(self.options.verbose_level == QUIET)
        handlers: list[logging.Handler] = [logging.StreamHandler(self.stderr)]
        if self.options.log_file:
            handlers.append(logging.FileHandler(self.options.log_file))
        of_us, of_libraries = _LEVELS.get(self.options.verbose_level, (logging.DEBUG,) * 2)
        logging.basicConfig(
            format="%(name)s: %(message)s", level=of_libraries, handlers=handlers, force=True
        )
        for name in ("trueup", "cliff"):
            logging.getLogger(name).setLevel(of_us)
        if of_libraries > logging.WARNING and not sys.warnoptions:
            warnings.simplefilter("ignore")

    def run_subcommand(self, argv: list[str]) -> int:
        """Run one command; help about one that is not there is answered as that command."""
        try:
            return self._run_known([word.removeprefix(_KEPT) for word in argv])
        except KeyboardInterrupt:
            return interrupted()

    def _run_known(self, argv: list[str]) -> int:
        known = {name.split()[0] for name in self.command_manager.commands}
        unknown = argv[0] == "help" and argv[1:] and argv[1] not in known
        asks_about_nothing = unknown and not argv[1].startswith("-")
        argv = argv[1:] if asks_about_nothing else argv
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            say("usage: trueup [options] COMMAND ...")
            complain(no_such_command(argv, self.command_manager.commands))
            return ExitCode.USAGE
        return super().run_subcommand(argv)


def main(arguments: list[str] | None = None) -> Any:
    """Run one command; the return value is its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if not words:
            # Printing its help ends a program.
            with suppress(SystemExit):
                Trueup().run(["--help"])
            return ExitCode.USAGE
        return Trueup().run(words)
    except ModuleNotFoundError as missing:
        say(f"trueup: {how_to_install(missing, words)}")
        return ExitCode.USAGE
