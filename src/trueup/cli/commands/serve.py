# SPDX-License-Identifier: Apache-2.0
"""trueup serve: the Placement service that placement.conf describes, or an embedded one."""

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from trueup.cli.terminal.progress import say
from trueup.cli.terminal.state import state_folder
from trueup.cli.terminal.usage import ShortErrors
from trueup.exit_codes import ExitCode
from trueup.placement import serving

PORT = 8778
_WORKERS_MAX = 4
_THREADS = 4


class ServeCommand(ShortErrors):
    """Serve the Placement API: placement.conf's service or, without one, an embedded database.

    An embedded service lives in one SQLite file, or in the database that --database names. It has
    no authentication, and therefore listens on the loopback interface only.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_what(parser.add_argument_group("what to serve"))
        _add_where(parser.add_argument_group("where and how"))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Serve until SIGTERM or SIGINT."""
        words = [f"--config-file={path}" for path in parsed_args.config_file]
        words += [f"--config-dir={path}" for path in parsed_args.config_dir]
        listen = serving.ListenOptions(
            host=parsed_args.host,
            port=parsed_args.port,
            workers=parsed_args.workers,
            threads=parsed_args.threads,
            insecure=parsed_args.insecure,
        )
        try:
            folder = parsed_args.state_dir or state_folder()
            named = parsed_args.state_dir is not None
            service = serving.choose(words, parsed_args.database, folder, folder_named=named)
            serving.serve(service, listen, _greet)
        except serving.Unusable as error:
            say(f"trueup: {error}")
            return ExitCode.USAGE
        except serving.DatabaseAway as error:
            say(f"trueup: the database does not answer: {error}")
            return ExitCode.INCOMPLETE
        return ExitCode.CLEAN


def _greet(line: str) -> None:
    # The service is there all the same where nobody can read that: the disk of a log is full.
    with suppress(OSError):
        say(f"trueup: {line}")


def _add_what(group: Any) -> None:
    group.add_argument(
        "--config-file", metavar="FILE", action="append", default=[], help="a placement.conf"
    )
    group.add_argument(
        "--config-dir", metavar="DIR", action="append", default=[], help="a placement.conf.d"
    )
    group.add_argument(
        "--database",
        metavar="URL",
        help="an embedded service over this database, whatever placement.conf says "
        "(default, without a placement.conf: sqlite, placement.sqlite in --state-dir)",
    )
    group.add_argument(
        "--state-dir",
        metavar="DIR",
        type=Path,
        help="where the embedded database is kept "
        "(default: $TRUEUP_STATE_DIR, or trueup in $XDG_STATE_HOME)",
    )


def _add_where(group: Any) -> None:
    group.add_argument("--host", default="127.0.0.1", help="the address (default: %(default)s)")
    group.add_argument(
        "--port", type=_port, default=PORT, help="from 1 to 65535 (default: %(default)s)"
    )
    group.add_argument(
        "--workers",
        type=_positive,
        default=min(_WORKERS_MAX, len(os.sched_getaffinity(0))),
        help="processes (default: one for each processor, at most 4)",
    )
    group.add_argument(
        "--threads",
        type=_positive,
        default=_THREADS,
        help="threads of each process (default: %(default)s)",
    )
    group.add_argument(
        "--insecure",
        action="store_true",
        help="listen on another address than loopback without authentication",
    )


def _port(text: str) -> int:
    return _number(text, 65535)


def _positive(text: str) -> int:
    return _number(text, 1024)


def _number(text: str, most: int) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {most}")
    return int(text)
