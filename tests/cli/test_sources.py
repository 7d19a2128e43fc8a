# SPDX-License-Identifier: Apache-2.0
"""Selectors, the same for every command that reads facts."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.running import ROWS, trueup
from trueup.cli.commands.audit import AuditCommand
from trueup.cli.sources import selection


def subjects(*words: object) -> set[str]:
    return {row["Subject"] for row in trueup("audit", *ROWS, *words).json()}


def test_each_selector_may_be_given_several_times():
    parser = AuditCommand(None, None).get_parser("trueup audit")
    words = "--host a --host b --cell c --instance i --provider p --project q --consumer r"
    reported = selection(parser.parse_args(words.split()))
    assert (reported.hosts, reported.cells, reported.uuids) == ({"a", "b"}, {"c"}, {"i", "r"})
    assert (reported.providers, reported.projects) == ({"p"}, {"q"})
    assert not selection(parser.parse_args([])).narrows


def test_an_audit_and_a_plan_are_of_what_is_selected(small, nova_conf, tmp_path):
    consumer = small.consumer("missing-allocation")
    assert subjects("--instance", consumer) == {consumer}
    plan = trueup("plan", "--interval", 0.01, "--instance", consumer, "-f", "json")
    assert [row["Subject"] for row in plan.json()] == [consumer]


def test_a_snapshot_may_be_of_a_selection_and_a_selection_of_a_snapshot(small, nova_conf, tmp_path):
    one, other = small.consumer("missing-allocation"), small.consumer("orphaned-allocation")
    path = tmp_path / "s"
    trueup("snapshot", "save", path, "--consumer", one, "--consumer", other)
    assert subjects("--from", path) == {one, other}
    assert subjects("--from", path, "--consumer", other) == {other}


@pytest.mark.parametrize(
    ("option", "kind"), [("--host", "host"), ("--cell", "cell"), ("--provider", "provider")]
)
def test_a_name_that_nothing_knows_is_one_line(nova_conf, option, kind):
    ran = trueup("audit", option, "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert f"neither Nova nor Placement has the {kind} 'nowhere'" in ran.err


def test_where_a_uuid_is_wanted_a_name_is_told_how_to_find_it(small, nova_conf):
    sql = "SELECT display_name FROM instances WHERE deleted = 0 LIMIT 1"
    name = small.sql("nova_cell1", sql)[0]["display_name"]
    ran = trueup("audit", "--instance", name)
    assert (ran.code, "An option takes the uuid of an instance" in ran.err) == (2, True)
    assert trueup("explain", "instance", name).code in {0, 3}


def test_a_name_that_is_nearly_right_is_told(small, nova_conf):
    ran = trueup("audit", "--cell", "cel1")
    assert (ran.code, "Did you mean cell1" in ran.err) == (2, True)
    host = small.sql("nova_cell1", "SELECT host FROM compute_nodes LIMIT 1")[0]["host"]
    for words in (["audit", "--host", host + "x"], ["explain", "host", host + "x"]):
        ran = trueup(*words)
        assert (ran.code, "Did you mean" in ran.err, host in ran.err) == (2, True, True), words


def test_an_instance_or_a_project_that_is_nearly_right_is_told(small, nova_conf):
    [row] = small.sql("nova_cell1", "SELECT uuid, project_id FROM instances LIMIT 1")
    for option, name in (("--instance", row["uuid"]), ("--project", row["project_id"])):
        ran = trueup("audit", option, name[:-1])
        assert (ran.code, f"Did you mean {name}" in ran.err) == (2, True), ran.err


def test_a_selection_that_matches_nothing_says_so(small, nova_conf, tmp_path):
    consumer = small.consumer("missing-allocation")
    nothing = "matches no instance, consumer or provider: nothing is judged"
    trueup("snapshot", "save", tmp_path / "s")
    for words in (["--project", "nowhere"], ["--instance", consumer, "--project", "nowhere"]):
        for command in (["audit"], ["audit", "--from", tmp_path / "s"], ["plan"]):
            ran = trueup(*command, *words)
            assert (ran.code, ran.out, nothing in ran.err) == (2, "", True), (command, words)
    assert nothing not in trueup("audit", "--instance", consumer).err
    assert nothing not in trueup("audit").err


@pytest.fixture
def copy(small, tmp_path) -> Path:
    """A copy of Placement's database."""
    path = tmp_path / "copy.sqlite"
    with (
        closing(sqlite3.connect(small.folder / "placement.sqlite")) as served,
        closing(sqlite3.connect(path)) as kept,
    ):
        served.backup(kept)
    return path


def test_a_ledger_that_the_api_serves_is_read_from_its_database(small, nova_conf):
    served = f"sqlite:///{small.folder / 'placement.sqlite'}"
    assert trueup("audit", "--placement-database", served).code == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE resource_providers SET generation = generation - 1",
        "UPDATE resource_providers SET generation = generation + 1",
        "DELETE FROM resource_providers",
        "UPDATE resource_providers SET uuid = '5eb033fd-1111-4222-8333-444455556667' WHERE id = 1",
    ],
)
def test_a_copy_that_the_api_does_not_serve_is_refused(small, nova_conf, copy, statement):
    """As a restored dump: all that was claimed since would look like drift."""
    small.sql("placement", "UPDATE resource_providers SET generation = 9 WHERE id = 1")
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE resource_providers SET generation = 9 WHERE id = 1")
        connection.execute(statement)
        connection.commit()
    for selected in ([], ["--consumer", small.consumer("missing-allocation")]):
        ran = trueup("audit", "--placement-database", f"sqlite:///{copy}", *selected)
        assert (ran.code, ran.out) == (5, "")
        assert str(copy) in ran.err
        served = re.findall(r"http://[^/\s]+", nova_conf.read_text())[-1]
        assert served in ran.err


def test_without_the_api_a_database_is_read_alone(small, nova_conf, copy):
    text = re.sub("(endpoint.*) = .*", r"\1 = http://127.0.0.1:1", nova_conf.read_text())
    nova_conf.write_text(text)
    assert trueup("audit", "--placement-database", f"sqlite:///{copy}").code == 3


def test_a_cell_may_be_named_with_its_database(small, nova_conf):
    small.sql("nova_api", "UPDATE cell_mappings SET database_connection = 'sqlite:////nowhere'")
    urls = [
        f"{cell}=sqlite:///{small.folder / f'nova_{cell}.sqlite'}"
        for cell in ("cell0", "cell1", "cell2")
    ]
    words = [word for url in urls for word in ("--cell-database", url)]
    assert trueup("audit").code == 5
    assert trueup("audit", *words).code == 3


def test_a_cell_database_without_a_name_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as ended:
        AuditCommand(None, None).get_parser("trueup audit").parse_args(["--cell-database", "url"])
    assert ended.value.code == 2
    assert "'url' is not NAME=URL" in capsys.readouterr().err


def test_a_cell_that_takes_too_long_is_silent(nova_conf):
    ran = trueup("audit", "--cell-timeout", "0.000001")
    assert ran.code == 5
    assert "it took longer than 1e-06 s" in ran.err
