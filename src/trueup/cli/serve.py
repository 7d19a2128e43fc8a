# SPDX-License-Identifier: Apache-2.0
"""trueup serve: the Placement service that placement.conf describes, or an embedded one."""

import argparse
import functools
import ipaddress
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cliff.command import Command
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server import Server

from trueup.cli.progress import say
from trueup.cli.state import state_folder
from trueup.exit_codes import ExitCode, table
from trueup.placement import app, config
from trueup.placement.app import PlacementApplication
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.store import availability, migrations

PORT = 8778
_WORKERS_MAX = 4
_THREADS = 4
# Requests that are under way may end, for as long as load balancers wait for an answer.
_SECONDS_TO_STOP = 60


class Unusable(Exception):
    """An option that cannot be: the text says why, and what can."""


@dataclass(frozen=True, slots=True)
class Service:
    """What each worker builds for itself: the words of placement.conf, or an embedded database."""

    words: tuple[str, ...]
    embedded_url: str | None

    @property
    def source(self) -> Any:
        """The options, parsed."""
        if self.embedded_url is None:
            return config.load(self.words)
        given = {"placement_database": {"connection": self.embedded_url}}
        return config.from_mapping(given).source

    def build(self) -> PlacementApplication:
        """The application, over connections of its own."""
        source = self.source
        config.set_up_logging(source)
        settings = config.read(source)
        if self.embedded_url is not None:
            return app.make_embedded_service(settings)
        return app.make_service(settings)


class ServeCommand(Command):
    """Serve the Placement API: placement.conf's service or, without one, an embedded database.

    An embedded service lives in one SQLite file, or in the database that --database names. It asks
    nobody who they are, and therefore listens on the loopback interface only.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.epilog = table()
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        _add_what(parser.add_argument_group("what to serve"))
        _add_where(parser.add_argument_group("where and how"))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Serve until SIGTERM or SIGINT."""
        try:
            return _serve(parsed_args)
        except (Unusable, ConfigurationUnusable, migrations.UnknownRevision) as error:
            say(f"trueup: {error}")
            return ExitCode.USAGE
        except migrations.RowsInTheWay as error:
            say(f"trueup: {error}")
            return ExitCode.FINDINGS
        except availability.DatabaseError as error:
            said = availability.reason(error)
            if availability.is_away(error):
                say(f"trueup: the database does not answer: {said}")
                return ExitCode.INCOMPLETE
            say(
                f"trueup: the database cannot be used: {said}. "
                "Run 'trueup-manage db sync' if it has no tables yet."
            )
            return ExitCode.USAGE


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
        default=state_folder(),
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
        help="processes (default: one for each processor, at most 4: %(default)s)",
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


def _serve(arguments: argparse.Namespace) -> int:
    service, settings = _chosen(arguments)
    address = _address(arguments.host)
    if not _is_guarded(service, settings) and not arguments.insecure:
        _require_loopback(address)
    _require_free(address, arguments.port)
    if service.embedded_url is not None:
        _prepare(settings)
    # What is wrong with the configuration or the tables shows here, not in every worker.
    service.build().close()
    server = _server(arguments, address)
    server.on_startup(functools.partial(say, _greeting(service, address, arguments.port)))
    server.serve(target_loader=_loader(service), wrap_loader=False)
    return ExitCode.CLEAN


def _chosen(arguments: argparse.Namespace) -> tuple[Service, Settings]:
    words = [f"--config-file={path}" for path in arguments.config_file]
    words += [f"--config-dir={path}" for path in arguments.config_dir]
    if arguments.database and words:
        raise Unusable("--database and --config-file name two services: give one of them.")
    url = arguments.database
    if not url:
        settings = config.read(config.load(words))
        if settings.database_url or words:
            return Service(tuple(words), None), settings
        url = f"sqlite:///{arguments.state_dir.absolute() / 'placement.sqlite'}"
        _make_folder(arguments.state_dir)
    service = Service((), url)
    return service, config.read(service.source)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(
            f"the folder {folder} cannot be made: {error.strerror}. "
            "Name another one with --state-dir."
        ) from error


def _prepare(settings: Settings) -> None:
    database = config.open_database(settings)
    try:
        migrations.upgrade(database)
    finally:
        database.close()


def _is_guarded(service: Service, settings: Settings) -> bool:
    return service.embedded_url is None and settings.auth_strategy == "keystone"


def _address(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unusable(f"--host {host} is no address: {error.strerror}.") from error
    return str(found[0][4][0])


def _require_loopback(address: str) -> None:
    if not ipaddress.ip_address(address).is_loopback:
        raise Unusable(
            f"whoever reaches {address} could change the ledger, because this service does not "
            "ask who they are. Use auth_strategy = keystone in placement.conf, listen on "
            "127.0.0.1, or say --insecure."
        )


def _require_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server does, so that connections of one that just ended are not in the way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise Unusable(
                f"cannot listen on {address} port {port}: {error.strerror}. "
                "Choose others with --host and --port."
            ) from error


def _server(arguments: argparse.Namespace, address: str) -> Any:
    return Server(
        target="trueup.wsgi:application",
        address=address,
        port=arguments.port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=arguments.workers,
        blocking_threads=arguments.threads,
        workers_kill_timeout=_SECONDS_TO_STOP,
        log_level=LogLevels.error,
    )


def _loader(service: Service) -> Callable[[], PlacementApplication]:
    # By reference and not as a closure: workers may be started without a copy of our memory.
    return functools.partial(Service.build, service)


def _greeting(service: Service, address: str, port: int) -> str:
    shown = f"[{address}]" if ":" in address else address
    what = "the Placement API" if service.embedded_url is None else "an embedded Placement API"
    note = "" if service.embedded_url is None else ", without authentication"
    return f"trueup: {what} on http://{shown}:{port}{note}"


def _port(text: str) -> int:
    return _number(text, 65535)


def _positive(text: str) -> int:
    return _number(text, 1024)


def _number(text: str, most: int) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {most}")
    return int(text)
