# SPDX-License-Identifier: Apache-2.0
"""`openstack trueup …`, run by the real client: from an audit to an undo, and back."""

import json
import re
import tomllib
from contextlib import ExitStack
from importlib import import_module

import pytest

from tests.clouds import answers
from tests.osc.conftest import Client, lost, run_client, written_clouds_yaml
from tests.tree import REPOSITORY
from trueup.cli.main import COMMANDS
from trueup.lab.cloud import SmallCloud

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
ENTRY_POINTS = PROJECT["entry-points"]["openstack.trueup.v1"]
PAGE = (REPOSITORY / "docs" / "openstack-client.md").read_text()


def test_from_an_audit_to_an_undo(openstack: Client, cloud: SmallCloud, tmp_path) -> None:
    where = ("--nova-database", cloud.databases.api_url)
    audit = openstack(
        "--os-cloud", "mine", "trueup", "audit", *where, "-f", "value", "-c", "Subject"
    )
    assert (audit.code, audit.out) == (3, f"{lost(cloud)}\n"), audit.err
    path = tmp_path / "plan.json"
    plan = openstack(
        "trueup", "plan", "--os-cloud", "mine", *where, "--interval", "0.1", "--out", path
    )
    assert plan.code == 3, plan.err
    shown = openstack("trueup", "plan", "show", path, "-f", "json")
    assert [row["Subject"] for row in json.loads(shown.out)] == [lost(cloud)]
    applied = openstack("--os-cloud", "mine", "trueup", "apply", *where, path, "-f", "json")
    assert [row["Result"] for row in json.loads(applied.out)] == ["done"]
    runs = openstack("trueup", "journal", "-f", "json")
    [run] = [row["Run"] for row in json.loads(runs.out)]
    undone = openstack("--os-cloud", "mine", "trueup", "undo", *where, run)
    assert undone.code == 0, undone.err


def test_nova_over_its_api_with_the_clients_session(recorded_cloud, tmp_path) -> None:
    placement = recorded_cloud("every-kind", "trueup").placement_url
    with ExitStack() as stack:
        recorded = stack.enter_context(answers.replayed(answers.load("every-kind/api")))
        url = recorded.get_endpoint()
        environment = written_clouds_yaml(
            tmp_path, {"placement": placement, "compute": url, "network": url}
        )
        ran = run_client(environment, "--os-cloud", "mine", "trueup", "audit")
    assert ran.code == 0, ran.err
    assert "Neutron (1 port)" in ran.err


def test_every_command_is_in_the_plugin_or_the_page_says_that_it_is_not() -> None:
    there = {name.removeprefix("trueup_").replace("_", " ") for name in ENTRY_POINTS}
    left_out = PAGE.rpartition("\n\n")[2]
    absent = COMMANDS.keys() - there
    assert {name for name in absent if f"`trueup {name.split()[0]}`" not in left_out} == set()


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_every_entry_point_is_a_command_of_trueup(name: str) -> None:
    command = name.removeprefix("trueup_").replace("_", " ")
    assert (
        COMMANDS[command].rpartition(":")[2].removesuffix("Command")
        == ENTRY_POINTS[name].rpartition(":")[2]
    )


LINES = re.findall(r"^    openstack (?:--os-cloud mine )?(trueup .*)$", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_the_page_shows_command_lines_that_the_client_takes(line: str) -> None:
    words = line.split()
    name = max((one for one in ENTRY_POINTS if line.replace(" ", "_").startswith(one)), key=len)
    module, _, command = ENTRY_POINTS[name].partition(":")
    parser = getattr(import_module(module), command)(None, None).get_parser("openstack")
    parser.parse_args(words[len(name.split("_")) :])
