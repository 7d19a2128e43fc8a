# SPDX-License-Identifier: Apache-2.0
"""A private PgBouncer before a PostgreSQL: many clients take turns in few sessions."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.engine import make_url

from tests.servers.databases import DatabaseServer, answers, as_text
from tests.servers.processes import (
    ServerProgram,
    find_program,
    private_folder,
    serving,
    unprivileged_account,
)

PACKAGE = "pgbouncer"
SETTINGS = """
[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = {mode}
default_pool_size = {sessions}
server_idle_timeout = 1
server_login_retry = 1
"""


@contextlib.contextmanager
def pgbouncer_to(url: str, mode: str = "transaction", sessions: int = 3) -> Iterator[str]:
    """The URL of the same database behind a PgBouncer with so many sessions."""
    target = make_url(url)
    account = unprivileged_account("postgres")
    program = find_program("pgbouncer", PACKAGE, "/usr/sbin")
    with private_folder("pgbouncer", account) as folder:

        def reached(port: int) -> str:
            return as_text(target.set(host="127.0.0.1", port=port))

        def command(port: int) -> tuple[str, ...]:
            users = _written(
                folder / "users", f'"{target.username}" "{target.password}"\n', account
            )
            known = {"host": target.host, "server_port": target.port, "users": users}
            text = SETTINGS.format(port=port, mode=mode, sessions=sessions, **known)
            return (program, str(_written(folder / "pgbouncer.ini", text, account)))

        started = ServerProgram(
            command=command,
            ready=lambda port: answers(DatabaseServer(make_url(reached(port))).url),
            log=folder / "server.log",
            account=account,
        )
        with serving(started) as port:
            yield reached(port)


def _written(file: Path, text: str, account: str | None) -> Path:
    file.write_text(text)
    if account:
        shutil.chown(file, account)
    return file
