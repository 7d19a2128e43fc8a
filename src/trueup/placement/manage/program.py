# SPDX-License-Identifier: Apache-2.0
"""trueup-manage: the command line, and the message for each kind of failure."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from trueup.exit_codes import ExitCode
from trueup.placement import config
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.manage import fsck, index, listing, online_migrations, schema
from trueup.placement.store import migrations
from trueup.placement.store.engine import availability
from trueup.placement.store.engine.database import Database
from trueup.silence import with_address

_GROUPS = {
    "db": "database commands",
    "index": "commands for the view that workers keep in memory",
}

TELLING_SECONDS = 60
"""How often a command that is not done says so."""

Action = Callable[[Database, Settings, Any], int]
"""Takes the options of the command line, returns the exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a group."""

    name: str
    help: str
    run: Action
    add_options: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    group: str = "db"
    columns: Sequence[str] = ()
    """The columns of its list, if it prints one."""
    is_upstreams: bool = True
    """PARITY: upstream's commands end with 1 for every failure; their 2 has another meaning."""


COMMANDS = (
    Command("sync", "Sync the database to the current version.", schema.sync),
    Command("version", "Report the current database version.", schema.version),
    Command(
        "stamp",
        "Stamp the revision table with the given version.",
        schema.stamp,
        schema.add_version,
    ),
    Command(
        "online_data_migrations",
        "Run the online data migrations.",
        online_migrations.run,
        online_migrations.add_options,
    ),
    Command(
        "detach",
        "Drop Trueup's own tables; upstream's service keeps the others.",
        schema.detach,
        is_upstreams=False,
    ),
    Command(
        "fsck",
        "Find, and repair, inconsistent rows.",
        fsck.run,
        fsck.add_options,
        columns=fsck.COLUMNS,
        is_upstreams=False,
    ),
    Command(
        "verify",
        "Compare the view that workers keep in memory with the database.",
        index.verify,
        index.add_options,
        group="index",
        columns=index.COLUMNS,
        is_upstreams=False,
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    ours = {command.name for command in COMMANDS if not command.is_upstreams}
    is_upstreams = not ours.intersection(words)
    try:
        return _run(words)
    except (
        ConfigurationUnusable,
        migrations.RowsInTheWay,
        migrations.UnknownRevision,
    ) as error:
        return _fail(str(error), ExitCode.USAGE, is_upstreams)
    except listing.OutputUnwritable as error:
        return _fail(str(error), ExitCode.INTERNAL_ERROR, is_upstreams)
    except availability.DatabaseError as error:
        reason = availability.reason(error)
        if availability.is_away(error):
            sentence = f"the database does not answer: {reason}"
            return _fail(sentence, ExitCode.INCOMPLETE, is_upstreams)
        return _fail(f"the database refuses: {reason}", ExitCode.USAGE, is_upstreams)


def _run(words: list[str]) -> int:
    source = config.load(
        words,
        add_commands=lambda source: config.add_command_group(
            source, "db", "Available DB commands", _add_parsers
        ),
    )
    run: Action | None = getattr(source.command, "run", None)
    if run is None:
        source.print_help()
        return int(ExitCode.INTERNAL_ERROR)
    if run is _print_help:
        return _print_help(source.command)
    settings = config.read(source)
    database = config.open_for_maintenance(settings)
    try:
        with listing.printing(), _telling(database, settings):
            return run(database, settings, source.command)
        # The pipe was closed.
        return int(ExitCode.CLEAN)
    finally:
        database.close()


@contextmanager
def _telling(working: Database, settings: Settings) -> Iterator[None]:
    """While a command is at work, say now and then whether its database answers.

    A statement may take as long as it needs: a change of large tables does. Nobody can tell it
    from one that a frozen server does not answer, except by asking the server something else.
    """
    done = Event()

    def tell() -> None:
        seconds = 0
        while not done.wait(TELLING_SECONDS):
            seconds += TELLING_SECONDS
            with closing(config.open_to_read(settings)) as database:
                answers = availability.answers(database)
                where = with_address("the database", database.engine.url)
            if not done.is_set():
                said = "answers" if answers else "does not answer any more"
                _say(f"still at work after {seconds} s; {where} {said}")

    if not working.is_sqlite:
        Thread(target=tell, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _add_parsers(groups: Any) -> None:
    # Without a command, the program prints its help and not an error.
    groups.required = False
    for name, description in _GROUPS.items():
        group = groups.add_parser(name)
        group.set_defaults(run=_print_help, parser=group)
        commands = group.add_subparsers(description=description)
        for command in COMMANDS:
            if command.group == name:
                _add_parser(commands, command)


def _add_parser(commands: Any, command: Command) -> None:
    parents = [listing.options(command.columns)] if command.columns else []
    parser = commands.add_parser(
        command.name,
        help=command.help,
        description=command.help,
        parents=parents,
        add_help=not parents,
    )
    command.add_options(parser)
    parser.set_defaults(run=command.run)


def _print_help(options: Any, *_: Any) -> int:
    options.parser.print_help()
    return 0


def _say(sentence: str) -> None:
    sys.stderr.write(f"{Path(sys.argv[0]).name}: {sentence}\n")


def _fail(sentence: str, code: ExitCode, is_upstreams: bool) -> int:
    _say(sentence)
    return int(ExitCode.INTERNAL_ERROR if is_upstreams else code)
