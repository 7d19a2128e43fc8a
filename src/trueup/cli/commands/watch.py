# SPDX-License-Identifier: Apache-2.0
"""trueup watch: audits in a loop, with metrics, a page and a notification hook."""

import argparse
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from trueup.cli.counted import placeables
from trueup.cli.exits import explained, unforeseen
from trueup.cli.judging import add_audit_options, audit_options
from trueup.cli.terminal.options import host_and_port, origin_of
from trueup.cli.terminal.progress import say
from trueup.cli.trail import sink
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Observation
from trueup.reconcile.report.tables import Table
from trueup.reconcile.runs import INTERVAL_SECONDS, Observer
from trueup.reconcile.runs.journals import runs
from trueup.reconcile.sinks import Sink
from trueup.reconcile.sinks.process import COMMAND_SECONDS
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.memory_file import recall, remembering
from trueup.reconcile.watch.server import serving
from trueup.reconcile.watch.watching import Watch, Watcher

LISTEN = "127.0.0.1:9808"
_INTERVAL_SECONDS = 600
_COLUMNS = ("Last round", "Evidence", "Findings", "Confirmed", "Not checked", "Rounds", "Failed")


class _Terminated(BaseException):
    """SIGTERM came. Not an Exception: no round may take it for a failure of its own."""


class WatchCommand(CloudVerb):
    """Audit in a loop. Serve a page and Prometheus metrics, and run a command when findings change.

    It only reads the cloud. A round that fails is reported, and the next round begins as usual.
    """

    COLUMNS = _COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
        add_state_option(parser)
        group = parser.add_argument_group("how it watches")
        group.add_argument(
            "--interval",
            metavar="SECONDS",
            type=float,
            default=_INTERVAL_SECONDS,
            help="from the start of a round to that of the next, give or take a tenth; a round "
            f"with new findings is followed by another after {INTERVAL_SECONDS} s "
            "(default: %(default)s)",
        )
        group.add_argument(
            "--rounds",
            metavar="NUMBER",
            type=int,
            help="stop after this many rounds (default: run until stopped)",
        )
        group.add_argument(
            "--listen",
            metavar="HOST:PORT",
            default=LISTEN,
            help="where the page, /metrics, /readyz and /livez are served (default: %(default)s)",
        )
        group.add_argument(
            "--notify",
            metavar="SINK",
            help="gets JSON when the confirmed findings have changed: a command, which has "
            f"{COMMAND_SECONDS:g} s, or https://…, file:PATH, syslog://HOST",
        )
        return parser

    def act(self, arguments: argparse.Namespace) -> Table:
        host, port = host_and_port("--listen", arguments.listen, LISTEN)
        hook = None if arguments.notify is None else sink(arguments.notify)
        audit_options(arguments)
        with self.cloud(arguments):
            # Options that name no cloud are refused here, and not in every round.
            pass
        with remembering(arguments.state_dir) as path, _terminable():
            recalled = recall(path)
            if recalled.lost:
                say(f"{path} cannot be used: {recalled.lost}. The history starts empty.")
            watcher = Watcher(self._watch(arguments, path, hook), recalled.memory)
            with serving(host, port, lambda: watcher.status) as served:
                say(f"Serving {origin_of(host, served)}/")
                self._run(watcher, arguments.rounds)
        return _COLUMNS, [_row(watcher)]

    def _run(self, watcher: Watcher, rounds: int | None) -> None:
        try:
            watcher.rounds(rounds)
        except _Terminated:
            say("Stopped by SIGTERM. What was seen is kept, and nothing was written to the cloud.")
            return
        last = watcher.status.memory.rounds[-1]
        if last.state != "complete":
            self.exit_code = ExitCode.INCOMPLETE
        elif any((last.counts or {}).values()):
            self.exit_code = ExitCode.FINDINGS

    def _watch(self, arguments: argparse.Namespace, path: Path, hook: Sink | None) -> Watch:
        def observe() -> Observation:
            # Everything anew in each round: a mapping, a password or an acknowledgement may change.
            options = audit_options(arguments)
            with self.cloud(arguments) as cloud:
                return Observer(cloud, options, lambda *_: None).observe()

        return Watch(
            observe=observe,
            count=lambda seen: placeables(self, arguments, seen),
            journals=lambda: runs(arguments.state_dir),
            explain=_explain,
            say=say,
            pause=time.sleep,
            path=path,
            interval=arguments.interval,
            version=version("trueup"),
            hook=hook,
            confirm_after=INTERVAL_SECONDS,
        )


def _explain(error: Exception) -> str:
    known = explained(error)
    return (known[1] if known else unforeseen(error)).rstrip(".")


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM raises _Terminated while a block runs."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _row(watcher: Watcher) -> tuple[str | int, ...]:
    status = watcher.status
    memory: Memory = status.memory
    counts = (sum(status.rounds.values()), status.rounds.get("failed", 0))
    confirmed = len(memory.confirmed(status.confirm_after))
    if not memory.rounds:
        return "", "", 0, 0, 0, *counts
    last = memory.rounds[-1]
    moment = last.at.isoformat(sep=" ", timespec="seconds")
    return moment, last.state, len(memory.sightings), confirmed, last.unchecked, *counts
