# SPDX-License-Identifier: Apache-2.0
"""The trail of a run outside of its journal: messages to sinks, and a signature at its end.

What goes wrong with either is said, and never stops a run.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trueup.cli.terminal.given import complete
from trueup.cli.terminal.options import OptionRefused
from trueup.cli.terminal.progress import complain
from trueup.reconcile.files import FileUnwritable
from trueup.reconcile.report.run_messages import run_began, run_ended, step_ended
from trueup.reconcile.runs.journal import Journal, StepOutcome
from trueup.reconcile.runs.proof import NotSigned, seal
from trueup.reconcile.sinks import Couriers, Sink, sink_of, sinks_of

SINKS_VARIABLE = "TRUEUP_SEND_TO"
SECRET_VARIABLE = "TRUEUP_WEBHOOK_SECRET"
KEY_VARIABLE = "TRUEUP_SIGN_WITH"
Send = Callable[[StepOutcome], None]


@dataclass(frozen=True, slots=True)
class Trail:
    """The sinks that get what a run does, and the SSH key that signs its journal."""

    sinks: tuple[Sink, ...] = ()
    key: Path | None = None

    @contextmanager
    def of(self, journal: Journal | None, folder: Path) -> Iterator[Send]:
        """Send that a run began, each outcome that is given, and how the run ended."""
        if journal is None or not (self.sinks or self.key):
            yield lambda _: None
            return
        shown = complete(f"trueup journal {journal.run}")
        again = f"The journal has them: {shown} --send-to SINK"
        couriers = Couriers(self.sinks, complain, f"run {journal.run}", again)
        couriers.send(run_began(journal))
        stopped = ""
        try:
            yield lambda pair: couriers.send(step_ended(journal, *pair))
        except BaseException as stop:
            stopped = type(stop).__name__
            raise
        finally:
            if self.key is not None:
                _sign(journal, folder, self.key)
            couriers.send(run_ended(journal, stopped, lambda one: complete(one, folder)))
            couriers.close()


NO_TRAIL = Trail()


def add_send_option(parser: argparse._ActionsContainer) -> None:
    """--send-to, for the commands that write, and for journals."""
    parser.add_argument(
        "--send-to",
        metavar="SINK",
        action="append",
        default=[],
        help="send what the run does there, as JSON: file:PATH, syslog://HOST, syslog+tcp://HOST, "
        "syslog+tls://HOST, https://…, or a command; with cadf+ before a URL as events of CADF "
        f"(default: ${SINKS_VARIABLE})",
    )


def add_trail_options(parser: argparse._ActionsContainer) -> None:
    """--send-to and --sign-with, for the commands that write."""
    add_send_option(parser)
    parser.add_argument(
        "--sign-with",
        metavar="KEY",
        type=Path,
        help="sign the journal with this SSH key when the run has ended "
        f"(default: ${KEY_VARIABLE})",
    )


def sink(text: str) -> Sink:
    """The sink that an option names, with the secret of the environment. Raises SinkInvalid."""
    return sink_of(text, os.environ.get(SECRET_VARIABLE, ""))


def trail_of(arguments: argparse.Namespace) -> Trail:
    """What the options say, or where they say nothing the environment.

    Raises SinkInvalid, and OptionRefused for a key that is not there.
    """
    ours = trail_of_environment()
    if arguments.sign_with:
        _refuse_missing("--sign-with", arguments.sign_with)
    return Trail(tuple(map(sink, arguments.send_to)) or ours.sinks, arguments.sign_with or ours.key)


def trail_of_environment() -> Trail:
    """For commands that have only the options of another program. Raises as `trail_of`."""
    key = os.environ.get(KEY_VARIABLE)
    if key:
        _refuse_missing(f"${KEY_VARIABLE}", Path(key))
    listed = os.environ.get(SINKS_VARIABLE, "")
    sinks = sinks_of(listed, os.environ.get(SECRET_VARIABLE, ""))
    return Trail(sinks, Path(key) if key else None)


def _refuse_missing(option: str, key: Path) -> None:
    """Refuse it before the run: afterwards it is too late to sign."""
    if not os.access(key, os.R_OK):
        raise OptionRefused(option, f"the key {key} cannot be read")


def _sign(journal: Journal, folder: Path, key: Path) -> None:
    try:
        seal(journal, folder, key)
    except NotSigned as error:
        complain(f"the journal of run {error.run} is not signed: {error.reason}.")
    except (OSError, FileUnwritable) as error:
        complain(f"the journal of run {journal.run} is not signed: {error}.")
