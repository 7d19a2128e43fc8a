# SPDX-License-Identifier: Apache-2.0
"""trueup shadow: upstream's service and Trueup's get the same reads; do they answer the same?"""

import argparse
import contextlib
import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueup.cli.documents import DocumentVerb
from trueup.cli.terminal.options import OptionRefused, origin_of
from trueup.cli.terminal.progress import progress, say
from trueup.exit_codes import ExitCode
from trueup.reconcile.report.tables import Table
from trueup.reconcile.sources.connect import placement_reader
from trueup.reconcile.wording import counted
from trueup.shadow import results
from trueup.shadow.comparing import AskedOverHttp, Comparison, Outcome, Services, compare
from trueup.shadow.mirror import mirror
from trueup.shadow.reads import Read, recorded
from trueup.web.errors import AddressUnusable

COLUMNS = ("Read", "Microversion", "Where", "Upstream", "Trueup")
_SERVICE = "http://127.0.0.1:8778"
_PAUSE_SECONDS = 6.0
_READS_WAITING_MAX = 1000


class ShadowCommand(DocumentVerb):
    """Send the same reads to upstream's Placement and to Trueup's; compare the answers.

    The reads are those of a log, or those that pass through a mirror. Only GETs are sent.
    """

    COLUMNS = COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        who = parser.add_argument_group("who is asked")
        who.add_argument(
            "--against", metavar="URL", required=True, help="upstream's Placement service"
        )
        who.add_argument(
            "--service",
            metavar="URL",
            default=_SERVICE,
            help="Trueup's, over the same database (default: %(default)s)",
        )
        who.add_argument(
            "--os-cloud",
            metavar="NAME",
            help="ask as the account of this cloud of clouds.yaml (default: the OS_* environment; "
            "without it, as the administrator of auth_strategy = noauth2)",
        )
        _add_reads(parser.add_argument_group("which reads"))
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        if arguments.seconds is not None and not arguments.mirror:
            raise OptionRefused("--seconds", "it would be ignored: only a mirror runs for a time")
        if arguments.microversion and not arguments.from_log:
            raise OptionRefused("--microversion", "it would be ignored: clients of a mirror say it")

    def act(self, arguments: argparse.Namespace) -> Table:
        upstream, trueup = (
            AskedOverHttp(f"{name} at {url}", placement_reader(url, arguments.os_cloud))
            for name, url in (("upstream", arguments.against), ("Trueup", arguments.service))
        )
        newest = min(upstream.newest_minor(), trueup.newest_minor())
        services = Services(upstream, trueup, pause=lambda: time.sleep(arguments.pause))
        if arguments.mirror:
            self._found = _watch(arguments, services)
        else:
            version = arguments.microversion or f"1.{newest}"
            self._found = _replay(_reads(arguments, version), services)
        _say_results(self._found)
        self.exit_code = _exit_code(self._found)
        return COLUMNS, [row for comparison in self._found for row in _rows(comparison)]

    def document(self) -> Mapping[str, Any]:
        return results.document(self._found)


def _add_reads(which: Any) -> None:
    source = which.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--from-log",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a log of upstream's service: Placement's request log, or an access log of uWSGI, "
        "Apache or nginx; may be repeated",
    )
    source.add_argument(
        "--mirror",
        metavar="[HOST:]PORT",
        type=_address,
        help="listen here, pass everything on to upstream's service, and compare the reads "
        "until Ctrl-C",
    )
    which.add_argument("--limit", metavar="N", type=int, help="at most N reads")
    which.add_argument("--seconds", metavar="N", type=float, help="end the mirror after this time")
    which.add_argument(
        "--microversion",
        metavar="1.N",
        help="the microversion of log lines that name none (default: the newest of both services)",
    )
    which.add_argument(
        "--pause",
        metavar="SECONDS",
        type=float,
        default=_PAUSE_SECONDS,
        help="wait before candidates that differ are asked for again (default: %(default)g)",
    )


def _reads(arguments: argparse.Namespace, version: str) -> tuple[Read, ...]:
    lines: list[str] = []
    for path in arguments.from_log:
        try:
            lines += path.read_text(errors="replace").splitlines()
        except OSError as error:
            raise OptionRefused("--from-log", f"{path} cannot be read: {error.strerror}") from error
    found = recorded(lines, version)
    if not found.reads:
        raise OptionRefused(
            "--from-log",
            f"of {len(lines)} lines none is a read. It takes Placement's request log, or an "
            "access log of uWSGI, Apache or nginx",
        )
    say(
        f"{counted(found.lines_of_reads, 'read')} in the log, {len(found.reads)} of them distinct; "
        f"{counted(found.lines_of_writes, 'write')} left out."
    )
    return found.reads[: arguments.limit]


def _replay(reads: Sequence[Read], services: Services) -> list[Comparison]:
    with progress() as report:
        found: list[Comparison] = []
        for read in reads:
            report("reads compared", len(found), len(reads))
            found.append(compare(read, services))
    return found


def _watch(arguments: argparse.Namespace, services: Services) -> list[Comparison]:
    waiting: queue.Queue[Read] = queue.Queue(_READS_WAITING_MAX)
    found: list[Comparison] = []
    unheard: list[Comparison] = []

    def note(read: Read) -> None:
        try:
            waiting.put_nowait(read)
        except queue.Full:
            reason = "more reads came than could be compared"
            unheard.append(Comparison(read, Outcome.NOT_COMPARED, reason=reason))

    try:
        with (
            mirror(arguments.mirror, arguments.against, note) as (host, port),
            contextlib.suppress(KeyboardInterrupt),
        ):
            say(f"the mirror is on {origin_of(host, port)}; Ctrl-C ends it.")
            for read in _arriving(waiting, arguments.seconds, arguments.limit):
                found.append(compare(read, services))
    except AddressUnusable as error:
        raise OptionRefused("--mirror", f"cannot listen there: {error.reason}") from error
    return found + unheard


def _arriving(
    waiting: "queue.Queue[Read]", seconds: float | None, limit: int | None
) -> Iterator[Read]:
    """Each read once, until the time is over, or so many came."""
    deadline = None if seconds is None else time.monotonic() + seconds
    seen: set[Read] = set()
    while limit is None or len(seen) < limit:
        left = 1.0 if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return
        with contextlib.suppress(queue.Empty):
            read = waiting.get(timeout=min(left, 1.0))
            if read not in seen:
                seen.add(read)
                yield read


def _say_results(found: list[Comparison]) -> None:
    number = results.counts(found)
    say(
        f"{counted(len(found), 'distinct read')}: {number[Outcome.SAME]} the same, "
        f"{number[Outcome.MOVED]} the same when asked again, "
        f"{number[Outcome.DIFFERENT]} different, {number[Outcome.NOT_COMPARED]} not compared."
    )
    for timing in results.timings(found):
        say(
            f"  {timing.route}: {counted(timing.reads, 'read')}, "
            f"p50 {timing.upstream_ms:.1f} ms upstream, "
            f"{timing.trueup_ms:.1f} ms Trueup, ratio {timing.ratio:.1f}"
        )


def _exit_code(found: list[Comparison]) -> ExitCode:
    number = results.counts(found)
    if number[Outcome.DIFFERENT]:
        return ExitCode.FINDINGS
    # Nothing compared is no proof.
    is_whole = found and not number[Outcome.NOT_COMPARED]
    return ExitCode.CLEAN if is_whole else ExitCode.INCOMPLETE


def _rows(one: Comparison) -> Iterator[tuple[str, ...]]:
    read = (one.read.path, one.read.microversion or "")
    if one.outcome is Outcome.NOT_COMPARED:
        yield (*read, f"not compared: {one.reason}", "", "")
    for each in one.differences:
        yield (*read, each.where, each.upstream, each.trueup)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (port.isdecimal() and int(port) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not [HOST:]PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
