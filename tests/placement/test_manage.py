# SPDX-License-Identifier: Apache-2.0
"""trueup-manage and trueup-status, beside upstream's commands on databases of the same rows."""

import json
import os
import subprocess
import sys
from queue import Queue

import pytest
from oslo_config import cfg
from sqlalchemy.engine import make_url

from tests.deployment.relay import relay_to
from tests.deployment.schemas import rows_of, schema_of, upstream_command
from tests.servers.databases import as_text
from trueup.placement.index.view.differences import Difference
from trueup.placement.index.view.verify import Verification
from trueup.placement.manage import index, program, status
from trueup.placement.store import schema
from trueup.placement.store.engine.database import Database

OLD_PROVIDERS = (
    "INSERT INTO resource_providers (uuid, name, generation) VALUES ('p{0}', 'p{0}', 0)".format
)
OLD_ALLOCATIONS = (
    "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
    "VALUES (1, 'c{0}', 0, 1)".format
)
VARIABLE = "OS_PLACEMENT_DATABASE__CONNECTION"
MIGRATE = ("db", "online_data_migrations")


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["trueup-manage"])
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def manage(monkeypatch, capsys):
    def run(url: str | None, *words: str, main=program.main) -> tuple[int, str, str]:
        if url is not None:
            monkeypatch.setenv(VARIABLE, url)
        code = main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def filled(url: str, providers: int = 0, consumers: int = 0) -> str:
    """A database with rows of an old release."""
    database = Database(url)
    schema.create_tables(database)
    with database.engine.begin() as connection:
        for number in range(providers):
            connection.exec_driver_sql(OLD_PROVIDERS(number))
        for number in range(consumers):
            connection.exec_driver_sql(OLD_ALLOCATIONS(number))
    database.close()
    return url


def test_sync_and_version(database_url, manage):
    assert manage(database_url, "db", "version") == (0, "None\n", "")
    assert manage(database_url, "db", "sync") == (0, "", "")
    assert manage(database_url, "db", "version") == (0, f"{schema.NEWEST_REVISION}\n", "")
    before = schema_of(database_url), rows_of(database_url)
    assert manage(database_url, "db", "sync") == (0, "", "")
    assert (schema_of(database_url), rows_of(database_url)) == before


def test_stamp(fresh_database, manage):
    url = filled(fresh_database("sqlite"))
    assert manage(url, "db", "stamp", "422ece571366") == (0, "", "")
    assert manage(url, "db", "version")[1] == "422ece571366\n"
    code, out, error = manage(url, "db", "stamp", "nowhere")
    assert (code, out) == (1, "")
    assert error == "trueup-manage: Can't locate revision identified by 'nowhere'\n"


@pytest.mark.parametrize("words", [MIGRATE, (*MIGRATE, "--max-count", "60")])
def test_online_data_migrations_say_and_do_what_upstreams_do(fresh_database, manage, words):
    ours, theirs = (filled(fresh_database("sqlite"), 3, 70) for _ in range(2))
    done = upstream_command("placement-manage", theirs, *words)
    assert manage(ours, *words)[:2] == (done.returncode, done.stdout)
    assert without_times(ours) == without_times(theirs)


def without_times(url: str) -> dict[str, list[tuple]]:
    return {
        table: sorted(row[2:] for row in rows)
        for table, rows in rows_of(url).items()
        if table in ("resource_providers", "consumers", "projects", "users", "allocations")
    }


def test_online_data_migrations_on_every_database(database_url, manage):
    url = filled(database_url, 2, 120)
    code, out, _ = manage(url, *MIGRATE)
    assert code == 0
    assert out.startswith("Running batches of 50 until complete\n2 rows matched query")
    assert "|    set_root_provider_ids    |      2      |     2     |" in out
    assert "| create_incomplete_consumers |     120     |    120    |" in out
    assert manage(url, *MIGRATE, "--max-count", "5")[0] == 0


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_count_must_be_a_positive_number(fresh_database, manage, count):
    url = filled(fresh_database("sqlite"))
    said = (127, "Must supply a positive value for max_count\n", "")
    assert manage(url, *MIGRATE, f"--max-count={count}") == said


def test_a_migration_that_fails_is_reported(fresh_database, manage):
    url = filled(fresh_database("sqlite"), consumers=2)
    database = Database(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE projects")
    database.close()
    code, out, _ = manage(url, *MIGRATE)
    assert code == 2
    assert "Error attempting to run create_incomplete_consumers\n" in out
    assert out.endswith("Some migrations failed unexpectedly. Check log for details.\n")


def test_detach_says_what_was_dropped(fresh_database, manage):
    url = filled(fresh_database("sqlite"))
    manage(url, "db", "detach")
    said = "There are no tables of Trueup; nothing was dropped.\n"
    assert manage(url, "db", "detach") == (0, said, "")
    database = Database(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE trueup_sample (id INTEGER)")
    database.close()
    assert manage(url, "db", "detach") == (0, "Dropped trueup_sample\n", "")


def test_fsck_of_a_healthy_database(fresh_database, manage):
    url = filled(fresh_database("sqlite"))
    assert manage(url, "db", "fsck") == (0, "Nothing is wrong.\n", "")
    assert manage(url, "db", "fsck", "-f", "json") == (0, "[]\n", "")
    assert manage(url, "db", "fsck", "--repair") == (0, "Nothing is wrong.\n", "")


def test_fsck_finds_and_repairs(fresh_database, manage):
    url = filled(fresh_database("sqlite"), providers=1)
    code, out, _ = manage(url, "db", "fsck", "-f", "json")
    assert code == 3
    assert json.loads(out) == [
        {
            "Defect": "broken_root",
            "Subject": "provider p0",
            "Evidence": "has no root",
            "Remedy": "make it a root",
            "State": "found",
        }
    ]
    code, out, _ = manage(url, "db", "fsck", "--repair", "-f", "value")
    assert (code, out) == (0, "broken_root provider p0 has no root make it a root repaired\n")
    assert manage(url, "db", "fsck")[0] == 0


def test_fsck_says_what_cannot_be_repaired(fresh_database, manage):
    url = filled(fresh_database("sqlite"), providers=1)
    database = Database(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE resource_providers SET parent_provider_id = id")
    database.close()
    assert manage(url, "db", "fsck")[0] == 3
    code, out, _ = manage(url, "db", "fsck", "--repair", "-f", "csv")
    assert code == 4
    head, line = out.splitlines()
    assert head == '"Defect","Subject","Evidence","Remedy","State"'
    assert line.endswith(',"cannot be repaired"')


def test_fsck_prints_the_columns_that_are_asked_for(fresh_database, manage):
    url = filled(fresh_database("sqlite"), providers=1)
    _, out, _ = manage(url, "db", "fsck", "-f", "yaml", "-c", "subject", "-c", "State")
    assert out == "- State: found\n  Subject: provider p0\n"


def test_fsck_repairs_nothing_if_a_column_does_not_exist(fresh_database, manage, capsys):
    url = filled(fresh_database("sqlite"), providers=1)
    with pytest.raises(SystemExit, match="2"):
        manage(url, "db", "fsck", "--repair", "-c", "Colour")
    assert "there is no column 'Colour'; there are: Defect, Subject" in capsys.readouterr().err
    assert manage(url, "db", "fsck")[0] == 3


@pytest.mark.parametrize(("program", "code"), [("manage", 1), ("status", 255)])
def test_without_the_service_a_program_says_how_to_install_it(program, code):
    missing = "import sys; sys.modules['oslo_log'] = None; sys.argv = ['trueup-manage', 'db'];"
    started = f"from trueup.placement.manage import start; sys.exit(start.{program}())"
    ran = subprocess.run(
        [sys.executable, "-c", f"{missing} {started}"], capture_output=True, text=True, check=False
    )
    said = "trueup-manage: this command needs 'oslo_log': pip install 'trueup[service]'.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", said)


def test_a_completion_that_oslo_config_lacks_is_one_line(manage, monkeypatch):
    """Here its templates are not installed."""

    def print_completion(*_: object) -> None:
        raise FileNotFoundError(2, "No such file", "bash-completion.template")

    monkeypatch.setattr(cfg.ConfigOpts, "_print_shell_completion", print_completion)
    _, _, error = manage(None, "--shell_completion", "bash")
    assert error == (
        "trueup-manage: --shell_completion needs bash-completion.template, "
        "which oslo.config did not install\n"
    )


def test_fsck_wants_the_newest_schema(fresh_database, manage):
    url = filled(fresh_database("sqlite"))
    manage(url, "db", "stamp", "422ece571366")
    code, _, error = manage(url, "db", "fsck")
    assert code == 2
    assert "run 'trueup-manage db sync' first" in error


@pytest.mark.parametrize(("word", "code"), [("sync", 1), ("version", 1), ("fsck", 5)])
def test_a_database_that_does_not_answer_is_one_line(manage, word, code):
    ended, out, error = manage("mysql+pymysql://a:b@127.0.0.1:1/c", "db", word)
    assert (ended, out) == (code, "")
    assert error.startswith("trueup-manage: the database does not answer: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_command_that_is_not_done_says_whether_the_database_answers(
    kind, fresh_database, manage, monkeypatch
):
    url = make_url(filled(fresh_database(kind)))
    told: Queue[str] = Queue()
    with relay_to(url.port or 0) as relay:
        relayed = url.set(host="127.0.0.1", port=relay.port)
        at = f"the database (127.0.0.1:{relay.port})"

        def work(database: Database, *_: object) -> Verification:
            with database.reading() as tx:
                assert told.get() == f"still at work after 1 s; {at} answers"
                relay.freeze()
                # It may have been asked before that.
                while not told.get().endswith(f"{at} does not answer any more"):
                    pass
                relay.thaw()
                tx.exec_driver_sql("SELECT 1")
            return Verification([], [])

        monkeypatch.setattr(program, "TELLING_SECONDS", 1)
        monkeypatch.setattr(program, "_say", told.put)
        monkeypatch.setattr(index, "verify_index", work)
        assert manage(as_text(relayed), "index", "verify")[0] == 0


@pytest.mark.parametrize(("word", "code"), [("sync", 1), ("fsck", 2), ("detach", 2)])
def test_a_missing_database_is_one_line(manage, word, code, tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text("")
    ended, _, error = manage(None, f"--config-file={file}", "db", word)
    assert ended == code
    assert error == (
        f"trueup-manage: {file} names no database. Set the option 'connection' in "
        "[placement_database], or name another file with --config-file\n"
    )


def test_without_a_command_there_is_help(fresh_database, manage):
    url = fresh_database("sqlite")
    code, out, _ = manage(url)
    assert (code, "{db,index}" in out) == (1, True)
    code, out, _ = manage(url, "db")
    assert (code, "online_data_migrations" in out) == (0, True)


@pytest.mark.parametrize(("providers", "consumers", "code"), [(0, 0, 0), (0, 2, 1), (1, 0, 2)])
def test_upgrade_check_says_what_upstreams_says(fresh_database, manage, providers, consumers, code):
    url = filled(fresh_database("sqlite"), providers, consumers)
    done = upstream_command("placement-status", url, "upgrade", "check")
    ours = manage(url, "upgrade", "check", main=status.main)
    assert ours[:2] == (done.returncode, done.stdout)
    assert ours[0] == code


def test_upgrade_check_as_json(fresh_database, manage):
    url = filled(fresh_database("sqlite"))
    code, out, _ = manage(url, "upgrade", "check", "--json", main=status.main)
    assert code == 0
    assert [check["result"] for check in json.loads(out)["checks"]] == [0, 0, 0]


def test_upgrade_check_without_a_database_is_one_line(manage, tmp_path):
    url = f"sqlite:///{tmp_path}/no/such/folder"
    code, _, error = manage(url, "upgrade", "check", main=status.main)
    assert (code, error.count("\n")) == (255, 1)


def test_index_verify_finds_nothing_and_says_so(ledger_url, manage):
    assert manage(ledger_url, "index", "verify", "--seconds", "0") == (
        0,
        "Nothing is wrong.\n",
        "",
    )
    assert manage(ledger_url, "index", "verify", "--seconds", "0", "-f", "json")[1] == "[]\n"


def test_index_verify_shows_every_difference(fresh_database, manage, monkeypatch):
    wrong = Difference("inventory", "host VCPU", "1 of 8", "0 of 8")
    late = Difference("trait", "CUSTOM_RED", "nothing", "id 7")
    monkeypatch.setattr(index, "verify_index", lambda *_: Verification([wrong], [late]))
    code, out, error = manage(fresh_database("sqlite"), "index", "verify", "-f", "csv")
    assert (code, error) == (3, "")
    assert out == (
        '"What","Subject","In memory","In the database","State"\n'
        '"inventory","host VCPU","1 of 8","0 of 8","wrong"\n'
        '"trait","CUSTOM_RED","nothing","id 7","written by another service"\n'
    )


def test_index_verify_without_a_database_is_told_in_one_line(manage, tmp_path):
    code, out, error = manage(f"sqlite:///{tmp_path}/no/such.sqlite", "index", "verify")
    assert (code, out) == (5, "")
    assert error.startswith("trueup-manage: the database does not answer: ")


# Ctrl-C while a module is imported, and while a command works.
PRESSED = """
import signal
import sys

signal.signal(signal.SIGINT, signal.default_int_handler)
from trueup.placement.manage import start


class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "trueup.placement.manage.program":
            signal.raise_signal(signal.SIGINT)


if sys.argv[1] == "importing":
    sys.meta_path.insert(0, Pressed())
else:
    from trueup.placement.manage import index

    index.verify_index = lambda *_: signal.raise_signal(signal.SIGINT)
sys.argv = ["trueup-manage", "index", "verify"]
sys.exit(start.manage())
"""


@pytest.mark.parametrize("when", ["importing", "working"])
def test_ctrl_c_is_told_in_one_line(fresh_database, monkeypatch, when):
    monkeypatch.setenv(VARIABLE, filled(fresh_database("sqlite")))
    command = [sys.executable, "-c", PRESSED, when]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "trueup-manage: stopped by Ctrl-C or SIGTERM; nothing further is written.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", said)


START = "from trueup.placement.manage import start; raise SystemExit(start.manage())"


@pytest.fixture
def printing(fresh_database, monkeypatch):
    """Run the program in a process of its own, with this standard output."""
    url = fresh_database("sqlite")
    schema.create(url)
    monkeypatch.setenv(VARIABLE, url)
    database = Database(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(OLD_PROVIDERS(0))
        connection.exec_driver_sql(OLD_ALLOCATIONS(0))
    database.close()

    def run(stdout, *words: str) -> tuple[int, str]:
        command = [sys.executable, "-c", START, *words]
        done = subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
        )
        return done.returncode, done.stderr

    return run


def test_a_reader_that_stops_reading_is_no_error(printing):
    reading, writing = os.pipe()
    os.close(reading)
    for words, code in (
        (("db", "fsck"), 3),
        (("db", "fsck", "-f", "json"), 3),
        (("db", "version"), 0),
        (("db", "fsck", "--repair"), 4),
    ):
        assert printing(writing, *words) == (code, ""), words
    os.close(writing)


def test_output_that_cannot_be_written_is_told_in_one_line(printing):
    with open("/dev/full", "w") as full:
        for words in (("db", "fsck"), ("db", "version")):
            code, error = printing(full, *words)
            assert code == 1
            assert error == "-c: the output cannot be written: No space left on device\n"
