# SPDX-License-Identifier: Apache-2.0
"""The database servers that other tests use."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.servers import processes, sources
from tests.servers.databases import DatabaseServer, answers
from tests.servers.fixtures import server_or_skip

HOLD_A_SERVER = """
import sys
from tests.servers.{kind} import private_{kind} as private
with private() as server:
    print(server.url.render_as_string(hide_password=False), flush=True)
    sys.stdin.read()
"""


def test_a_fresh_database_is_empty_and_can_be_written(database_url: str) -> None:
    engine = sqlalchemy.create_engine(database_url, poolclass=NullPool)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE ledger (used INTEGER)"))
        connection.execute(sqlalchemy.text("INSERT INTO ledger VALUES (7)"))
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT used FROM ledger")).scalars().all() == [7]


@pytest.mark.parametrize("kind", ["sqlite", "mariadb", "postgresql"])
def test_each_call_gives_another_database(kind: str, fresh_database: Callable[[str], str]) -> None:
    assert fresh_database(kind) != fresh_database(kind)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_database_in_use_can_be_dropped(kind: str, request: pytest.FixtureRequest) -> None:
    server: DatabaseServer = request.getfixturevalue(f"{kind}_server")
    url = server.create_database()
    connection = sqlalchemy.create_engine(url).connect()
    connection.execute(sqlalchemy.text("CREATE TABLE ledger (used INTEGER)"))
    connection.commit()
    connection.execute(sqlalchemy.text("SELECT * FROM ledger"))
    server.drop_database(url)
    with pytest.raises(sqlalchemy.exc.DBAPIError):
        sqlalchemy.create_engine(url).connect()
    connection.invalidate()


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_server_dies_with_a_killed_test_run(kind: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(f"{kind}_server")  # skips where the programs are missing
    with processes.private_folder("killed", None) as folder:
        folder.chmod(0o755)  # the server's account has to pass through
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD_A_SERVER.format(kind=kind)],
            env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.getcwd()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with holder:
            assert holder.stdout is not None
            url = sqlalchemy.make_url(holder.stdout.readline().strip())
            assert answers(url)
            holder.send_signal(signal.SIGKILL)
        assert processes.poll(lambda: not answers(url), 20)


def test_a_missing_program_skips_and_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def private() -> None:
        processes.find_program("no-such-database", "some-package")

    monkeypatch.delenv(sources.VARIABLES["mariadb"], raising=False)
    monkeypatch.setitem(sources.PRIVATE, "mariadb", private)
    # Nothing is skipped here: this is the exception by which the fixture tells pytest to skip.
    with pytest.raises(pytest.skip.Exception, match="install the package some-package"):
        next(server_or_skip("mariadb"))


def test_a_server_named_in_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    named = "mysql+pymysql://somebody:secret@db.example:3307"
    monkeypatch.setenv(sources.VARIABLES["mariadb"], f"{named}/ignored")
    monkeypatch.setitem(sources.PRIVATE, "mariadb", None)
    with sources.database_server("mariadb") as server:
        assert server.url.render_as_string(hide_password=False) == named


def test_a_server_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    complain = "import sys; sys.exit('no room at the inn')"
    program = processes.ServerProgram(
        command=lambda port: (sys.executable, "-c", complain),
        ready=lambda port: False,
        log=tmp_path / "server.log",
    )
    with (
        pytest.raises(processes.ServerFailed, match="no room at the inn"),
        processes.serving(program),
    ):
        pass
