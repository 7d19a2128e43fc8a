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
from trueup.cli.outcomes import add_policy_option
from trueup.cli.repairs import RepairedCloud, send_to
from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused, host_and_port, origin_of
from trueup.cli.terminal.progress import say
from trueup.cli.trail import NO_TRAIL, Trail, add_trail_options, sink, trail_of
from trueup.cli.verb import CloudVerb, add_state_option
from trueup.exit_codes import ExitCode
from trueup.reconcile.audit import Observation
from trueup.reconcile.clock import now
from trueup.reconcile.plan.automatic import terms_of
from trueup.reconcile.plan.policy_file import in_force
from trueup.reconcile.report.tables import Table
from trueup.reconcile.runs import INTERVAL_SECONDS, Observer
from trueup.reconcile.runs.journals import runs
from trueup.reconcile.sinks import Sink
from trueup.reconcile.sinks.process import COMMAND_SECONDS
from trueup.reconcile.watch.memory import Memory
from trueup.reconcile.watch.memory_file import kept_in, remembering
from trueup.reconcile.watch.repairing import Desk, Repairer
from trueup.reconcile.watch.server import serving
from trueup.reconcile.watch.watching import Watch, Watcher

LISTEN = "127.0.0.1:9808"
_INTERVAL_SECONDS = 600
_COLUMNS = (
    "Last round", "Evidence", "Findings", "Confirmed", "Not checked", "Rounds", "Failed", "Repairs",
)  # fmt: skip


class _Terminated(BaseException):
    """SIGTERM came. Not an Exception: no round may take it for a failure of its own."""


class WatchCommand(CloudVerb):
    """Audit in a loop, with a page, Prometheus metrics, and a notice when findings change.

    It only reads the cloud, and with --repair repairs what a policy permits. A round that fails is
    reported, and the next round begins as usual.
    """

    COLUMNS = _COLUMNS

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_audit_options(parser)
        add_state_option(parser)
        group = parser.add_argument_group("how it watches")
        group.add_argument(
            "--interval",
            # That of other commands is the time between two observations.
            dest="every",
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
        repairs = parser.add_argument_group("how it repairs")
        repairs.add_argument(
            "--repair",
            action="store_true",
            help="repair what the policies in force permit without a person; off without this",
        )
        add_policy_option(repairs)
        add_trail_options(repairs)
        return parser

    def check(self, arguments: argparse.Namespace) -> None:
        super().check(arguments)
        for destination in ("policy", "send_to", "sign_with"):
            if getattr(arguments, destination) and not arguments.repair:
                option = f"--{destination.replace('_', '-')}"
                raise OptionRefused(option, "it would be ignored: only --repair writes")

    def act(self, arguments: argparse.Namespace) -> Table:
        host, port = host_and_port("--listen", arguments.listen, LISTEN)
        hook = None if arguments.notify is None else sink(arguments.notify)
        trail = trail_of(arguments) if arguments.repair else NO_TRAIL
        audit_options(arguments)
        if arguments.repair:
            terms_of(in_force(arguments.policy))
        with self.cloud(arguments):
            # Options that name no cloud are refused here, and not in every round.
            pass
        with remembering(arguments.state_dir) as path, _terminable():
            recalled = kept_in(path, Memory)
            if recalled.lost:
                say(f"{path} cannot be used: {recalled.lost}. The history starts empty.")
            repairer = self._repairer(arguments, trail, hook) if arguments.repair else None
            watch = self._watch(arguments, path, hook, repairer)
            watcher = Watcher(watch, recalled.value or Memory())
            with serving(host, port, lambda: watcher.status) as served:
                say(f"Serving {origin_of(host, served)}/")
                self._run(watcher, arguments.rounds)
        return _COLUMNS, [_row(watcher)]

    def _run(self, watcher: Watcher, rounds: int | None) -> None:
        try:
            watcher.rounds(rounds)
        except _Terminated:
            say("Stopped by SIGTERM. What was seen is kept.")
            return
        last = watcher.status.memory.rounds[-1]
        if last.state != "complete":
            self.exit_code = ExitCode.INCOMPLETE
        elif any((last.counts or {}).values()):
            self.exit_code = ExitCode.FINDINGS

    def _repairer(self, arguments: argparse.Namespace, trail: Trail, hook: Sink | None) -> Repairer:
        sinks = (*trail.sinks, *([hook] if hook else []))
        cloud = RepairedCloud(
            connect=lambda: self.cloud(arguments),
            options=lambda: audit_options(arguments),
            folder=arguments.state_dir,
            trail=trail,
            interval=INTERVAL_SECONDS,
            pause=time.sleep,
        )
        desk = Desk(
            folder=arguments.state_dir,
            policies=lambda: in_force(arguments.policy),
            clock=now,
            say=say,
            send=lambda message: send_to(sinks, message),
            explain=_explain,
            complete=lambda command: complete(command, arguments.state_dir),
        )
        return Repairer(cloud, desk)

    def _watch(
        self,
        arguments: argparse.Namespace,
        path: Path,
        hook: Sink | None,
        repairer: Repairer | None,
    ) -> Watch:
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
            interval=arguments.every,
            version=version("trueup"),
            hook=hook,
            repairer=repairer,
            confirm_after=INTERVAL_SECONDS,
            complete=lambda command: complete(command, arguments.state_dir),
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
    repairs = status.repairs.words if status.repairs else ""
    confirmed = len(memory.confirmed(status.confirm_after))
    if not memory.rounds:
        return "", "", 0, 0, 0, *counts, repairs
    last = memory.rounds[-1]
    moment = last.at.isoformat(sep=" ", timespec="seconds")
    seen = (moment, last.state, len(memory.sightings), confirmed, last.unchecked)
    return *seen, *counts, repairs
