# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL with a standby that can take over."""

import contextlib
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from tests.servers.databases import DatabaseServer, answers, as_text
from tests.servers.postgresql import (
    ACCOUNT,
    PACKAGE,
    install,
    password_file,
    program_folders,
    serve,
)
from tests.servers.processes import (
    ServerFailed,
    ServerProgram,
    came_up,
    find_program,
    free_port,
    poll,
    private_folder,
    run_as,
    start,
    stop,
    unprivileged_account,
)

SECONDS_TO_FOLLOW = 30
# A commit is acknowledged when the standby has it, which `synchronous_commit=off` would not do.
SETTINGS = ("synchronous_commit=on", "hot_standby=on", "wal_receiver_status_interval=1")
STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = "


class PostgresqlNode:
    """A primary, or the copy that follows it, and what can happen to it."""

    def __init__(self, folder: Path, password: str, account: str | None):
        self.folder, self._account, self.port = folder, account, free_port()
        self.url = URL.create("postgresql+psycopg", ACCOUNT, password, "127.0.0.1", self.port)
        self._process: subprocess.Popen | None = None

    @property
    def server(self) -> DatabaseServer:
        return DatabaseServer(self.url, private=True)

    def start(self) -> None:
        """Let it serve. Raises ServerFailed."""
        command = serve(find_program("postgres", PACKAGE, *program_folders()), self.folder)
        program = ServerProgram(
            command=lambda port: command(port, SETTINGS),
            ready=lambda _: answers(self.url),
            log=self.folder.with_suffix(".log"),
            account=self._account,
            stop_signal=signal.SIGQUIT,
        )
        self._process = start(program, self.port)
        if not came_up(self._process, program, self.port):
            self.stop()
            raise ServerFailed(f"a PostgreSQL:\n{program.log.read_text()[-4000:]}")

    def stop(self) -> None:
        """End it and its sessions at once, as a host does that loses its power."""
        if self._process is not None:
            stop(self._process, signal.SIGQUIT)

    def promote(self) -> None:
        """Let it take over; it accepts writes from then on."""
        self.server.execute("SELECT pg_promote()")

    def scalar(self, query: str) -> object:
        url = self.url.set(database="postgres")
        engine = sqlalchemy.create_engine(url, poolclass=NullPool)
        with engine.connect() as connection:
            return connection.scalar(sqlalchemy.text(query))


class Replicated:
    """A primary and its standby."""

    def __init__(self, primary: PostgresqlNode, standby: PostgresqlNode):
        self.primary, self.standby = primary, standby

    def url(self, database: str) -> str:
        """The URL with both hosts, which finds the one that accepts writes."""
        hosts = [f"127.0.0.1:{node.port}" for node in (self.primary, self.standby)]
        url = self.primary.url._replace(host=None, port=None, database=database)
        wanted = {"host": hosts, "target_session_attrs": "read-write"}
        return as_text(url.update_query_dict(wanted))

    def wait_for_the_standby(self) -> None:
        """Let commits wait for the standby from now on, and wait until they do."""
        self.primary.server.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.server.execute("SELECT pg_reload_conf()")
        if not poll(lambda: self.primary.scalar(f"{STREAMING} 'sync'") == 1, SECONDS_TO_FOLLOW):
            raise ServerFailed("the standby does not follow synchronously")

    def stop_following(self) -> None:
        """Let the standby receive nothing more, as behind a slow or broken network."""
        self.standby.server.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.standby.server.execute("SELECT pg_reload_conf()")
        if not poll(lambda: self.primary.scalar(f"{STREAMING} 'async'") == 0, SECONDS_TO_FOLLOW):
            raise ServerFailed("the standby still follows")

    def has_caught_up(self) -> bool:
        """Whether the standby shows all that the primary has written."""
        written = self.primary.scalar("SELECT pg_current_wal_lsn()")
        shown = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
        return self.standby.scalar(shown) is True


@contextlib.contextmanager
def replicated_postgresql() -> Iterator[Replicated]:
    """A primary and its standby, on free loopback ports; their files go when they stop."""
    folders = program_folders()
    copier = find_program("pg_basebackup", PACKAGE, *folders)
    installer = find_program("initdb", PACKAGE, *folders)
    account, password = unprivileged_account("postgres"), secrets.token_urlsafe(16)
    with private_folder("replicated", account) as folder:
        primary, standby = (
            PostgresqlNode(folder / name, password, account) for name in ("primary", "standby")
        )
        run_as(
            account, install(installer, primary.folder, password_file(folder, account, password))
        )
        try:
            primary.start()
            source = as_text(primary.url.set(drivername="postgresql"))
            words = (copier, "--pgdata", str(standby.folder), "--dbname", source)
            run_as(account, (*words, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"))
            standby.start()
            yield Replicated(primary, standby)
        finally:
            standby.stop()
            primary.stop()
