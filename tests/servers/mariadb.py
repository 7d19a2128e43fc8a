# SPDX-License-Identifier: Apache-2.0
"""A private MariaDB."""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from tests.servers.databases import DatabaseServer, answers
from tests.servers.processes import (
    ServerProgram,
    find_program,
    private_folder,
    run_as,
    serving,
    unprivileged_account,
)

PACKAGE = "mariadb-server"
ACCOUNT = "trueup"
# What is lost in a power cut does not matter here; waiting for the disk does.
CARELESS = (
    "--debug-no-sync",
    "--innodb-flush-method=nosync",
    "--innodb-log-file-size=16M",
)
TUNED = (
    *CARELESS,
    "--innodb-doublewrite=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-fast-shutdown=2",
    "--performance-schema=off",
    "--max-connections=300",
    "--max-allowed-packet=64M",
    "--skip-name-resolve",
    "--skip-log-bin",
)


@contextlib.contextmanager
def private_mariadb(more: Sequence[str] = ()) -> Iterator[DatabaseServer]:
    """A server of its own, on a free loopback port; its files go when it stops.

    `more` are options besides those that every server of the tests gets.
    """
    server = find_program("mariadbd", PACKAGE, "/usr/sbin", "/usr/local/sbin")
    installer = find_program("mariadb-install-db", PACKAGE, "/usr/sbin")
    account = unprivileged_account("mysql")
    password = secrets.token_urlsafe(16)
    with private_folder("mariadb", account) as folder:
        files, accounts = folder / "files", folder / "grants.sql"
        run_as(account, install(installer, files))
        accounts.write_text(grants(password))
        accounts.chmod(0o644)  # the folder itself is closed to everybody else

        def url(port: int) -> URL:
            return URL.create("mysql+pymysql", ACCOUNT, password, "127.0.0.1", port)

        program = ServerProgram(
            command=lambda port: (*_serve(server, files, accounts, port), *more),
            ready=lambda port: answers(url(port)),
            log=folder / "server.log",
            account=account,
        )
        with serving(program) as port:
            yield DatabaseServer(url(port), private=True)


def install(installer: str, files: Path) -> Sequence[str]:
    return (
        installer,
        "--no-defaults",
        f"--datadir={files}",
        f"--tmpdir={files.parent}",
        "--auth-root-authentication-method=normal",
        "--skip-name-resolve",
        "--skip-test-db",
        *CARELESS,
    )


def _serve(server: str, files: Path, grants: Path, port: int) -> Sequence[str]:
    return (
        server,
        "--no-defaults",
        f"--datadir={files}",
        f"--tmpdir={files.parent}",
        f"--socket={files / 'socket'}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--init-file={grants}",
        *TUNED,
    )


def grants(password: str) -> str:
    """The server reads one statement from each line."""
    return (
        f"CREATE OR REPLACE USER {ACCOUNT}@'%' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON *.* TO {ACCOUNT}@'%' WITH GRANT OPTION;\n"
    )
