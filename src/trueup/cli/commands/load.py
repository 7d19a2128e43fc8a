# SPDX-License-Identifier: Apache-2.0
"""trueup load: who asks Placement how much."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import say
from trueup.cli.verb import Verb
from trueup.exit_codes import ExitCode
from trueup.load.counting import Share, busy, shares
from trueup.load.lines import requests_in, requests_of_metrics
from trueup.reconcile.report.tables import Columns, Table
from trueup.reconcile.wording import counted

_FIELDS = ("client", "route", "status")
_SUMS = ("Requests", "Share", "Seconds", "Share of time")


class LoadCommand(Verb):
    """Say who asks Placement how much: requests per client, route and status, and their time.

    From the log of the service or of its web server, or from the metrics of Trueup's service.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument(
            "--from-log",
            metavar="FILE",
            type=Path,
            action="append",
            help="a log of Placement, Apache, nginx or uWSGI; may be repeated; - is standard input",
        )
        source.add_argument(
            "--from-metrics",
            metavar="FILE",
            type=Path,
            help="the metrics of Trueup's service; - is standard input",
        )
        parser.add_argument(
            "--by",
            metavar="FIELDS",
            help="client, route, status, or several with commas (default: client; of metrics: "
            "route)",
        )
        parser.add_argument(
            "--top", metavar="ROWS", type=int, default=20, help="rows shown (default: %(default)s)"
        )
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        by = _by(arguments)
        if unknown := [field for field in by if field not in _FIELDS]:
            raise OptionRefused("--by", f"no field {unknown[0]!r}. There are: {', '.join(_FIELDS)}")
        if arguments.from_metrics and "client" in by:
            raise OptionRefused("--by", "metrics name no clients; read a log with --from-log")
        if arguments.top < 1:
            raise OptionRefused("--top", "name how many rows to show, 1 or more")

    def columns(self, arguments: argparse.Namespace) -> Columns:
        return *(field.capitalize() for field in _by(arguments)), *_SUMS

    def act(self, arguments: argparse.Namespace) -> Table:
        if arguments.from_metrics:
            asked = list(requests_of_metrics(_lines(arguments.from_metrics, "--from-metrics")))
        else:
            logs = (_lines(path, "--from-log") for path in arguments.from_log)
            asked = [request for lines in logs for request in requests_in(lines)]
        found = shares(asked, _by(arguments))
        if not found:
            say("There is no request to Placement in it.")
        elif found[0].seconds is None:
            say("The log has no times. With [trueup] log_request_time = true the service has them.")
        for reader in busy(asked):
            self.exit_code = ExitCode.FINDINGS
            say(
                f"{reader.client} reads providers {reader.reads / reader.usual:.0f} times as often "
                f"as others: {reader.reads} requests, where the median is {reader.usual:g}."
            )
        if len(found) > arguments.top:
            say(f"{counted(len(found) - arguments.top, 'row')} not shown; --top shows more.")
        return self.columns(arguments), [_row(share) for share in found[: arguments.top]]


def _by(arguments: argparse.Namespace) -> list[str]:
    default = "route" if arguments.from_metrics else "client"
    return [field.strip() for field in (arguments.by or default).split(",")]


def _lines(path: Path, option: str) -> Iterator[str]:
    if str(path) == "-":
        yield from sys.stdin
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror or error}"
        raise OptionRefused(option, reason) from error


def _row(one: Share) -> tuple[str | int, ...]:
    seconds = "" if one.seconds is None else f"{one.seconds:.3f}"
    share = "" if one.seconds_share is None else f"{one.seconds_share:.1%}"
    return *one.values, one.requests, f"{one.requests_share:.1%}", seconds, share
