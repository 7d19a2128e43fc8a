# SPDX-License-Identifier: Apache-2.0
"""Starts the services that are compared, and a private database server for them.

Both services run under the same web server with the same number of processes and threads. Each has
its own copy of the cloud, because writes through one would change what the other reads.
"""

import contextlib
import os
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from unittest import mock

from bench import meter
from bench.client import Client
from bench.loading import backend_of, configuration, program
from tests.servers import mariadb, postgresql
from tests.servers.databases import DatabaseServer
from tests.servers.processes import ServerProgram, private_folder, serving
from tests.servers.upstream import upstream_url

# Unlike the tests' servers, these commit durably: a claim must survive a crash.
_MARIADB = (
    "--innodb-buffer-pool-size=1G",
    "--innodb-log-file-size=512M",
    "--innodb-fast-shutdown=2",
    "--max-connections=300",
    "--max-allowed-packet=64M",
    "--skip-name-resolve",
    "--skip-log-bin",
)
_POSTGRESQL = (
    "shared_buffers=1GB",
    "work_mem=32MB",
    "max_wal_size=4GB",
    "random_page_cost=1.1",
    "max_connections=200",
    "autovacuum=off",
)
_SETTINGS = {"mariadb": (mariadb, _MARIADB), "postgresql": (postgresql, _POSTGRESQL)}
# A server that waits so many microseconds in each commit, as for a slow disk or another node.
_SLOW_COMMITS = {
    "mariadb": ("--log-bin", "--binlog-commit-wait-count=1000", "--binlog-commit-wait-usec={}"),
    "postgresql": ("commit_siblings=0", "commit_delay={}"),
}
_PRIVATE = {"mariadb": mariadb.private_mariadb, "postgresql": postgresql.private_postgresql}
DATABASES = ("sqlite", *_PRIVATE)

APPLICATIONS = {
    "upstream": "placement.wsgi.api:application",
    "trueup": "trueup.wsgi:application",
}
SERVERS = ("uwsgi", "granian")


@dataclass(frozen=True, slots=True)
class Database:
    """Where the copies of the cloud are; `process` is None with SQLite."""

    server: DatabaseServer | None
    folder: Path
    process: int | None

    def new_url(self, name: str) -> str:
        """The URL of an empty database."""
        if self.server is None:
            return f"sqlite:///{self.folder / name}.sqlite"
        return self.server.create_database("bench")

    def seconds_used(self) -> float:
        """Its processor time in seconds; with SQLite it is included in the services' time."""
        return meter.seconds_used(self.process) if self.process else 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run one service."""

    application: str
    label: str
    server: str = "uwsgi"
    processes: int = 2
    threads: int = 4
    driver: str | None = None
    """SQLAlchemy's name of another driver than the documented one."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    label: str
    plan: Plan
    port: int
    process: int
    seconds_to_start: float

    def connect(self) -> Client:
        # uWSGI's plain HTTP socket closes after each answer. With its other one, a connection
        # that is kept open keeps a thread from serving others.
        return Client(self.port, keeps_alive=self.plan.server == "granian")


@contextlib.contextmanager
def running_database(kind: str, commit_milliseconds: float = 0) -> Iterator[Database]:
    """Run a private database server with durable commits, or make a folder for SQLite.

    Each commit takes so much longer than this machine's disk needs.
    """
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private_folder("bench", None))
        if kind == "sqlite":
            yield Database(None, folder, None)
            return
        module, settings = _SETTINGS[kind]
        if commit_milliseconds:
            wait = round(commit_milliseconds * 1000)
            settings = (*settings, *(words.format(wait) for words in _SLOW_COMMITS[kind]))
        before = meter.children_of(os.getpid())
        with mock.patch.object(module, "TUNED", settings):
            server = stack.enter_context(_PRIVATE[kind]())
        process = (meter.children_of(os.getpid()) - before).pop()
        yield Database(server, folder, process)


@contextlib.contextmanager
def running_service(plan: Plan, database_url: str) -> Iterator[Service]:
    """Run a service on a database until the block ends."""
    with private_folder("service", None) as folder:
        started = ServerProgram(
            command=lambda port: _command(plan, port),
            ready=_answers,
            log=folder / "server.log",
            environment=_environment(plan, folder, database_url),
        )
        before, began = meter.children_of(os.getpid()), perf_counter()
        with serving(started) as port:
            process = (meter.children_of(os.getpid()) - before).pop()
            yield Service(plan.label, plan, port, process, perf_counter() - began)


def _environment(plan: Plan, folder: Path, database_url: str) -> Mapping[str, str]:
    url = upstream_url(database_url) if plan.application == "upstream" else database_url
    if plan.driver and backend_of(url) != "sqlite":
        url = f"{backend_of(url)}+{plan.driver}:{url.partition(':')[2]}"
    return {**configuration(folder, url), "PYTHONWARNINGS": "ignore"}


def _command(plan: Plan, port: int) -> tuple[str, ...]:
    if plan.server == "granian":
        places = ("--host", "127.0.0.1", "--port", str(port))
        sizes = ("--workers", str(plan.processes), "--blocking-threads", str(plan.threads))
        options = ("--interface", "wsgi", "--http", "1", "--no-ws", "--log-level", "error")
        return (program("granian"), *places, *sizes, *options, APPLICATIONS[plan.application])
    return (
        program("uwsgi"),
        f"--http-socket=127.0.0.1:{port}",
        f"--module={APPLICATIONS[plan.application]}",
        f"--processes={plan.processes}",
        f"--threads={plan.threads}",
        "--master",
        "--need-app",
        "--lazy-apps",
        "--enable-threads",
        "--disable-logging",
        "--die-on-term",
        "--buffer-size=65535",
        "--listen=128",
        # As in OpenStack's own deployments: the header says that the connection will be closed.
        "--add-header=Connection: close",
        f"--virtualenv={sys.prefix}",
    )


def _answers(port: int) -> bool:
    """Whether the service answers a request that needs the database."""
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/resource_classes", headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=30):
            return True
    except OSError:
        return False
