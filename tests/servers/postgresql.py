# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL."""

import contextlib
import glob
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from tests.servers.databases import DatabaseServer, answers, as_text
from tests.servers.processes import (
    ServerFailed,
    ServerProgram,
    find_program,
    private_folder,
    run_as,
    serving,
    unprivileged_account,
)

PACKAGE = "postgresql"
ACCOUNT = "trueup"
# What is lost in a power cut does not matter here; waiting for the disk does.
TUNED = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_connections=200",
    "autovacuum=off",
)


@contextlib.contextmanager
def private_postgresql() -> Iterator[DatabaseServer]:
    """A server of its own, on a free loopback port; its files go when it stops."""
    folders = program_folders()
    server = find_program("postgres", PACKAGE, *folders)
    installer = find_program("initdb", PACKAGE, *folders)
    account = unprivileged_account("postgres")
    password = secrets.token_urlsafe(16)
    with private_folder("postgresql", account) as folder:
        files = folder / "files"
        run_as(account, install(installer, files, password_file(folder, account, password)))

        def url(port: int) -> URL:
            return URL.create("postgresql+psycopg", ACCOUNT, password, "127.0.0.1", port)

        program = ServerProgram(
            command=serve(server, files),
            ready=lambda port: answers(url(port)),
            log=folder / "server.log",
            account=account,
            # "Immediate shutdown": it also ends the sessions, and nothing is worth saving.
            stop_signal=signal.SIGQUIT,
        )
        with serving(program) as port:
            yield DatabaseServer(url(port), private=True)


def psql(server: DatabaseServer, script: str) -> None:
    """Run a script of PostgreSQL's own client to its end, or to its first error."""
    program = find_program("psql", "postgresql-client", *program_folders())
    url = server.url.set(drivername="postgresql", database="postgres")
    words = [program, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", as_text(url)]
    ran = subprocess.run(words, input=script, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ServerFailed(ran.stderr)


def program_folders() -> list[str]:
    """Debian keeps each major version's programs apart; the newest first."""
    found = glob.glob("/usr/lib/postgresql/*/bin")
    return sorted(found, key=lambda path: int(path.split("/")[-2]), reverse=True)


def password_file(folder: Path, account: str | None, password: str) -> Path:
    file = folder / "password"
    file.write_text(password)
    file.chmod(0o600)
    if account:
        shutil.chown(file, account)
    return file


def install(installer: str, files: Path, password_file: Path) -> Sequence[str]:
    return (
        installer,
        f"--pgdata={files}",
        f"--username={ACCOUNT}",
        f"--pwfile={password_file}",
        "--auth=password",
        "--encoding=UTF8",
        "--no-locale",
        "--no-sync",
    )


def serve(server: str, files: Path) -> Callable[..., Sequence[str]]:
    """The command for a port; later settings replace earlier ones."""

    def command(port: int, more: Sequence[str] = ()) -> Sequence[str]:
        places = ("listen_addresses=127.0.0.1", f"unix_socket_directories={files}")
        options = [part for setting in (*TUNED, *places, *more) for part in ("-c", setting)]
        return (server, "-D", str(files), "-p", str(port), *options)

    return command
