# SPDX-License-Identifier: Apache-2.0
"""`trueup serve`: a web server, granian, with the service in each of its workers.

This is the service of placement.conf, or an embedded one with an SQLite database of its own. An
embedded service has no authentication, so by default it listens on the loopback interface only.
"""

import functools
import ipaddress
import multiprocessing
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from granian import _signals
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.mp import MPServer

from trueup.placement import app, config
from trueup.placement.api.access import OPEN_PATHS
from trueup.placement.app import PlacementApplication
from trueup.placement.config import ConfigurationUnusable, Settings
from trueup.placement.middleware import silent_connections
from trueup.placement.middleware.request_buffering import SPARE_THREADS, RequestBuffering
from trueup.placement.store import migrations
from trueup.placement.store.engine import availability

# Requests in progress may take as long as load balancers wait for an answer.
_SECONDS_TO_STOP = 60
_SECONDS_BETWEEN_SIGNALS = 1.0
_SECONDS_OF_NOTICE = 0.5

_CONNECTIONS_MAX = 16_384
"""Connections of clients, for each worker. An idle one costs a file and some kilobytes, and the
server closes it after 30 s. Further connections wait for that."""
_OTHER_FILES = 256


class Unusable(Exception):
    """The service cannot start with these options; the text has the reason and the remedy."""


class DatabaseAway(Exception):
    """The database does not answer; the text is its driver's."""


@dataclass(frozen=True, slots=True)
class Service:
    """The service of these command-line options, or an embedded one; each worker builds it."""

    words: tuple[str, ...]
    embedded_url: str | None

    def source(self) -> Any:
        """The options, parsed. Raises ConfigurationUnusable."""
        if self.embedded_url is None:
            return config.load(self.words)
        given = {"placement_database": {"connection": self.embedded_url}}
        return config.from_mapping(given).source

    def files(self) -> str:
        """The files that configure the service, as the prefix of a message."""
        try:
            return f"{config.files_of(self.source())}: " if self.embedded_url is None else ""
        except ConfigurationUnusable:
            # The error names its file.
            return ""

    def build(self) -> PlacementApplication:
        """The application, over connections of its own."""
        source = self.source()
        config.set_up_logging(source)
        settings = config.read(source)
        if self.embedded_url is not None:
            return app.make_embedded_service(settings, owns_process=True)
        return app.make_service(settings, owns_process=True)


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """The listening address, the number of workers, and the threads of each."""

    host: str
    port: int
    workers: int
    threads: int
    insecure: bool
    """Listen on other interfaces than loopback even without authentication."""


def choose(
    words: Sequence[str], database_url: str | None, folder: Path, folder_named: bool = False
) -> Service:
    """placement.conf's service if options, files or variables name a database; else embedded.

    `folder` is for a new embedded database. Raises Unusable, also if an operator named the folder
    and it would be ignored.
    """
    if database_url and words:
        raise Unusable("--database and --config-file name two services: use one of them.")
    if named := _configured_service(words, database_url):
        if folder_named:
            raise Unusable(
                "--state-dir would be ignored: --database, placement.conf or the environment names "
                "the database. Leave one of them out."
            )
        return named
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(
            f"the folder {folder} cannot be created: {error.strerror}. "
            "Choose another one with --state-dir."
        ) from error
    return Service((), f"sqlite:///{folder.absolute() / 'placement.sqlite'}")


def _configured_service(words: Sequence[str], database_url: str | None) -> Service | None:
    """The service with a configured database; None if no option, file or variable names one."""
    if database_url:
        return Service((), database_url)
    try:
        found = config.read(config.load(words))
    except ConfigurationUnusable as error:
        raise Unusable(str(error)) from error
    return Service(tuple(words), None) if found.database_url or words else None


def serve(service: Service, listen: ListenOptions, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; requests in progress are answered first.

    Raises Unusable and DatabaseAway before anything listens.
    """
    address = _address(listen.host)
    _try(service, address, listen)
    server = _server(listen, address)
    server.on_startup(functools.partial(say, _greeting(service, address, listen.port)))
    build = functools.partial(_build_in_worker, service, listen)
    # A partial and not a closure: workers may start without a copy of this process's memory.
    server.serve(target_loader=build, wrap_loader=False)


def _build_in_worker(service: Service, listen: ListenOptions) -> RequestBuffering:
    # A forked worker has the signal handlers of its parent until granian sets its own: a SIGTERM
    # would have no effect until then.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    length_max = config.read(service.source()).body_length_max
    application = RequestBuffering(service.build(), listen.threads, length_max, OPEN_PATHS)
    silent_connections.watch(listen.port)
    threading.Thread(target=_end_without_parent, name=__name__, daemon=True).start()
    _signals.set_sync_signals = functools.partial(
        _end_at_the_first, _signals.set_sync_signals, application
    )
    return application


def _end_without_parent() -> None:
    """End this worker, as by SIGTERM, once the process that started it is gone.

    A process that is killed does not end its workers. They would keep the port, with the code and
    the configuration of their time, and the next start would fail.
    """
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end_at_the_first(set_signals: Callable[[], Any], application: RequestBuffering) -> Any:
    """Set granian's handlers, which then get only the first signal.

    SAFETY: granian's handler blocks for ever at the third signal, and holds the lock of the
    interpreter meanwhile, so no request in progress would be answered. granian has no public
    option for this.

    For a moment before granian gets the signal, each answer closes its connection: granian then
    closes idle connections, perhaps while the next request is on its way.
    """
    event = set_signals()
    handle: Any = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: Any) -> None:
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, signal.SIG_IGN)
        application.is_ending = True
        threading.Timer(_SECONDS_OF_NOTICE, handle, (number, frame)).start()

    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, end)
    return event


def _try(service: Service, address: str, listen: ListenOptions) -> None:
    """Build the service once, so that an error is one line and not a traceback of each worker."""
    try:
        settings = config.read(service.source())
        guarded = service.embedded_url is None and settings.auth_strategy == "keystone"
        if not guarded and not listen.insecure:
            _require_loopback(address)
        _require_free(address, listen.port)
        if service.embedded_url is not None:
            _upgrade_schema(settings)
        service.build().close()
    except (ConfigurationUnusable, migrations.UnknownRevision, migrations.RowsInTheWay) as error:
        raise Unusable(f"{service.files()}{error}") from error
    except availability.DatabaseError as error:
        said = availability.reason(error)
        if availability.is_away(error):
            raise DatabaseAway(said) from error
        raise Unusable(
            f"the database cannot be used: {said}. "
            "Run 'trueup-manage db sync' if it has no tables yet."
        ) from error


def _upgrade_schema(settings: Settings) -> None:
    database = config.open_for_maintenance(settings)
    try:
        migrations.upgrade(database)
    finally:
        database.close()


def _address(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unusable(f"--host {host} is not an address: {error.strerror}.") from error
    return str(found[0][4][0])


def _require_loopback(address: str) -> None:
    if not ipaddress.ip_address(address).is_loopback:
        raise Unusable(
            f"every client that reaches {address} could change the ledger, because this service "
            "has no authentication. Use auth_strategy = keystone in placement.conf, listen on "
            "127.0.0.1, or use --insecure."
        )


def _require_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server does, so that connections of an earlier server do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise Unusable(
                f"cannot listen on {address} port {port}: {error.strerror}. "
                "Choose others with --host and --port."
            ) from error


def _server(listen: ListenOptions, address: str) -> Any:
    return _RemindingServer(
        target="trueup.wsgi:application",
        address=address,
        port=listen.port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=listen.workers,
        blocking_threads=listen.threads + SPARE_THREADS,
        # granian's own limit is 1024 for all workers together: one client without a token could
        # open so many connections, and lock all others out.
        backpressure=max(_open_files() - _OTHER_FILES, _OTHER_FILES),
        workers_kill_timeout=_SECONDS_TO_STOP,
        log_level=LogLevels.error,
    )


def _open_files() -> int:
    """Raise the limit of open files of this process and its workers, and return it."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = _CONNECTIONS_MAX + _OTHER_FILES
    allowed = wanted if most == resource.RLIM_INFINITY else min(most, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed


class _RemindingServer(MPServer):
    """A server that repeats SIGTERM until its workers have ended.

    A starting worker loses a SIGTERM: right after the fork it runs its parent's handler, and
    granian's own has no effect before the worker listens. granian sends one SIGTERM, waits for such
    a worker, and then kills it.
    """

    def _stop_workers(self) -> None:
        stop_workers: Callable[[], None] = super()._stop_workers
        ended = threading.Event()
        reminding = threading.Thread(target=self._remind, args=(tuple(self.wrks), ended))
        reminding.start()
        try:
            stop_workers()
        finally:
            ended.set()
            reminding.join()

    @staticmethod
    def _remind(workers: Sequence[Any], ended: threading.Event) -> None:
        while not ended.wait(_SECONDS_BETWEEN_SIGNALS):
            for worker in workers:
                # An ended worker gets no signal.
                worker.terminate()


def _greeting(service: Service, address: str, port: int) -> str:
    shown = f"[{address}]" if ":" in address else address
    if service.embedded_url is None:
        return f"the Placement API of placement.conf on http://{shown}:{port}"
    return f"an embedded Placement API on http://{shown}:{port}, without authentication"
