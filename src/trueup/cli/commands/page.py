# SPDX-License-Identifier: Apache-2.0
"""trueup page: a living ledger as web pages on the loopback interface."""

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from trueup.cli.terminal.options import (
    OptionRefused,
    add_placement_options,
    host_and_port,
    origin_of,
    placement_words,
)
from trueup.cli.terminal.progress import complain, say
from trueup.cli.terminal.usage import ShortErrors
from trueup.exit_codes import ExitCode
from trueup.load.counting import load_of
from trueup.model.requests import CandidateRequest
from trueup.placement import why
from trueup.placement.config import ConfigurationUnusable
from trueup.placement.index.view.columns import View
from trueup.placement.page.serving import ListenAt, NotLoopback, serving
from trueup.placement.page.views import Fits
from trueup.web.errors import AddressUnusable

LISTEN = "127.0.0.1:8779"


class PageCommand(ShortErrors):
    """Show a ledger in a browser: trees, usage, consumers, and why a search finds no host.

    It reads Placement's database at each request, and writes nothing. It has no
    authentication, and therefore listens on the loopback interface only.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_placement_options(parser.add_argument_group("which ledger"))
        parser.add_argument(
            "--log",
            metavar="FILE",
            type=Path,
            help="the log of the service, to show who asks how much, and the searches that found "
            "nothing; it has them with [trueup] log_empty_searches",
        )
        group = parser.add_argument_group("where")
        group.add_argument(
            "--listen",
            metavar="HOST:PORT",
            default=LISTEN,
            help="where the pages are served; port 0 takes a free one (default: %(default)s)",
        )
        group.add_argument(
            "--insecure",
            action="store_true",
            help="listen on another address than loopback without authentication",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Serve until SIGTERM or SIGINT."""
        try:
            return self._serve(parsed_args)
        except OptionRefused as error:
            complain(f"{error.option}: {error.reason}")
        except NotLoopback as error:
            complain(
                f"everybody who reaches {error.address} could read the ledger, because the pages "
                "have no authentication. Listen on 127.0.0.1 behind a proxy that authenticates "
                "users, or use --insecure."
            )
        except AddressUnusable as error:
            complain(
                f"nothing can be served at {error.address}: {error.reason}. "
                "Name another address with --listen."
            )
        except ConfigurationUnusable as error:
            complain(str(error))
        except why.LedgerAway as error:
            complain(f"the database does not answer: {error}")
            return ExitCode.INCOMPLETE
        return ExitCode.USAGE

    def _serve(self, arguments: argparse.Namespace) -> int:
        host, port = host_and_port("--listen", arguments.listen, LISTEN)
        words = placement_words(arguments)
        at = ListenAt(host, port, arguments.insecure)
        with (
            _until_stopped() as stop,
            serving(words, arguments.database, at, _fits, arguments.log, load_of) as served,
        ):
            say(f"Serving {origin_of(host, served)}/")
            stop.wait()
        return ExitCode.CLEAN


def _fits(request: CandidateRequest, view: View) -> Fits:
    """How many servers fit. Imported when asked, because it needs what both halves install."""
    try:
        from trueup.capacity.in_ledger import fits
    except ModuleNotFoundError as missing:
        words = f"counting needs '{missing.name}': pip install 'trueup[reconcile]'."
        raise why.QuestionUnusable(words) from missing
    return fits(request, view)


@contextmanager
def _until_stopped() -> Iterator[Event]:
    """An event that SIGTERM and SIGINT set while a block runs."""
    stop = Event()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
