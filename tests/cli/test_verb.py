# SPDX-License-Identifier: Apache-2.0
"""What every command has: each format, chosen columns, the table of codes in its help."""

import csv
import io
import json

import pytest
import yaml

from tests.cli.running import AUDIT_COLUMNS, ROWS, trueup

COLUMNS = {
    "audit": list(AUDIT_COLUMNS),
    "plan": ["Step", "Name", "Subject", "Before", "After", "Because"],
    "apply": ["Name", "Subject", "Result", "Because", "Reason"],
    "undo": ["Name", "Subject", "Result", "Because", "Reason"],
    "journal": [
        "Run",
        "Began at",
        "By",
        "Endpoint",
        "Undoes",
        "Steps",
        "Done",
        "Refused",
        "Unknown",
        "Open",
        "Taken back",
        "Note",
        "Planned by",
        "Approved by",
    ],
    "snapshot save": ["Source", "Answered", "At", "Read via", "Rows", "Not in the facts"],
    "snapshot show": ["Source", "Answered", "At", "Read via", "Rows", "Not in the facts"],
    "defects": ["Defect", "Severity", "What it is", "Remedy"],
}
EVERY_COMMAND = pytest.mark.parametrize("command", COLUMNS)


@pytest.fixture
def words(nova_conf, tmp_path, request):
    """The words of a command that prints at least one row."""

    def of(command: str) -> list[object]:
        if command.startswith("snapshot"):
            trueup("snapshot", "save", tmp_path / "a.snapshot")
            return [*command.split(), tmp_path / "a.snapshot"]
        if command == "plan":
            return ["plan", "--interval", 0.01]
        if command in ("audit", "defects"):
            return [command]
        plan_file = request.getfixturevalue("plan_file")
        if command == "apply":
            return ["apply", plan_file]
        assert trueup("apply", plan_file).code == 0
        [run] = trueup("journal", "-f", "value", "-c", "Run").out.split()
        return ["undo", run] if command == "undo" else ["journal"]

    return of


def columns_of(command: str) -> list[str]:
    """The options that name all columns: without them, some commands print a document."""
    return [word for name in COLUMNS[command] for word in ("-c", name)]


@EVERY_COMMAND
def test_json_has_every_column(words, command):
    rows = trueup(*words(command), "-f", "json", *columns_of(command)).json()
    assert rows
    assert all(list(row) == COLUMNS[command] for row in rows)


@EVERY_COMMAND
def test_yaml_has_every_column(words, command):
    rows = yaml.safe_load(trueup(*words(command), "-f", "yaml", *columns_of(command)).out)
    assert rows
    assert all(sorted(row) == sorted(COLUMNS[command]) for row in rows)


@EVERY_COMMAND
def test_csv_has_every_column(words, command):
    header, *rows = csv.reader(io.StringIO(trueup(*words(command), "-f", "csv").out))
    assert header == COLUMNS[command]
    assert rows
    assert all(len(row) == len(header) for row in rows)


@EVERY_COMMAND
def test_values_are_lines_without_a_header(words, command):
    first, second = COLUMNS[command][:2]
    ran = trueup(*words(command), "-f", "value", "-c", first)
    assert ran.out.strip()
    assert first not in ran.out
    assert second not in ran.out


@EVERY_COMMAND
def test_a_table_for_people_has_every_column_that_is_asked_for(words, command):
    first, second, third, *_ = COLUMNS[command]
    ran = trueup(*words(command), "-c", third, "-c", first)
    [header] = [line for line in ran.out.splitlines() if first in line][:1]
    assert header.startswith("|")
    assert third in header
    assert f"| {second} " not in header


def test_evidence_is_a_mapping_for_programs_and_lines_for_people(nova_conf):
    rows = trueup("audit", *ROWS).json()
    every = [row["Evidence"] for row in rows if row["Verdict"] == "finding"]
    assert all({"instance", "holds"} <= set(evidence) for evidence in every)
    evidence = next(one for one in every if one["holds"])
    table = trueup("audit", "-c", "Evidence").out
    assert f"instance: {evidence['instance']['name']}" in table
    [held, *_] = evidence["holds"]
    assert f"VCPU={held['resources']['VCPU']} " in table
    assert f" on {held['name']}" in table


@EVERY_COMMAND
def test_what_people_are_told_does_not_mix_with_what_programs_read(words, command):
    ran = trueup(*words(command), "-f", "json")
    json.loads(ran.out)
    assert bool(ran.err) is (command not in ("defects", "journal"))


@EVERY_COMMAND
def test_help_ends_with_the_exit_codes(command):
    for words in ((*command.split(), "--help"), ("help", *command.split())):
        ran = trueup(*words)
        assert ran.code == 0
        assert "exit codes:" in ran.out
        assert "  6  a limit was exceeded; nothing was written" in ran.out


def test_the_cloud_is_named_by_option_or_by_environment(small, monkeypatch):
    monkeypatch.setenv("TRUEUP_NOVA_CONF", "/nowhere/nova.conf")
    assert "/nowhere/nova.conf" in trueup("audit").err
    assert trueup("audit", "--nova-conf", small.nova_conf).code == 3


def test_a_database_and_a_cloud_may_stand_in_for_nova_conf(small, tmp_path, monkeypatch):
    auth = {"endpoint": small.placement_url, "token": "admin"}
    mine = {"auth_type": "admin_token", "auth": auth, "placement_endpoint": small.placement_url}
    (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": mine}}))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
    url = f"sqlite:///{small.folder / 'nova_api.sqlite'}"
    ran = trueup("audit", "--nova-database", url, "--os-cloud", "mine", *ROWS)
    assert ran.code == 3, ran.err
    assert ran.json() == trueup("audit", "--nova-conf", small.nova_conf, *ROWS).json()


@pytest.mark.parametrize("names", [["OS_CLOUD"], ["OS_AUTH_URL"], ["OS_CLOUD", "OS_AUTH_URL"]])
def test_a_cloud_of_the_environment_beside_nova_conf_is_told(nova_conf, monkeypatch, names):
    """With -v only: operators have it in their shells for other commands."""
    expected = trueup("audit", *ROWS)
    for name in names:
        monkeypatch.setenv(name, "https://another.example")
    ran = trueup("-v", "audit", *ROWS)
    assert (ran.code, ran.out) == (expected.code, expected.out)
    assert f"{' and '.join(names)} of the environment is not used: {nova_conf} says" in ran.err
    assert "OS_" not in trueup("audit", *ROWS).err
