# SPDX-License-Identifier: Apache-2.0
"""packaging/placement-names: upstream's names, built, installed beside Trueup, and used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment.processes import SCRIPTS, server
from trueup.placement.store import schema


def environment(names: Path, folder: Path, url: str) -> dict[str, str]:
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = {url}\n[api]\nauth_strategy = noauth2\n"
    )
    return {
        "PYTHONPATH": str(names),
        "OS_PLACEMENT_CONFIG_DIR": str(folder),
        "HOME": str(folder),
        "PYTHONWARNINGS": "ignore",
    }


@pytest.fixture
def run(names, tmp_path, fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)
    variables = os.environ | environment(names, tmp_path, url)

    def run_command(*command: object) -> str:
        words = [sys.executable, *map(str, command)]
        done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_command


@pytest.mark.parametrize(
    "code",
    [
        "from placement.wsgi.api import application as made",
        "from placement.wsgi import init_application; made = init_application()",
        "from oslo_config import cfg; from placement import conf, deploy;"
        "options = cfg.ConfigOpts(); conf.register_opts(options); import os;"
        "options([], project='placement', default_config_files="
        "[os.environ['OS_PLACEMENT_CONFIG_DIR'] + '/placement.conf']);"
        "made = deploy.loadapp(options)",
    ],
)
def test_the_application_under_its_names(run, code):
    assert run("-c", f"{code}\nprint(type(made).__module__)") == "trueup.placement.app\n"


def test_both_distributions_come_from_one_folder(run, names):
    shown = run("-c", "import trueup, placement; print(trueup.__path__[0], placement.__path__[0])")
    assert shown.split() == [str(names / "trueup"), str(names / "placement")]


def test_the_commands_under_their_names(run, names):
    assert run(names / "bin" / "placement-manage", "db", "version") == f"{schema.NEWEST_REVISION}\n"
    assert "Upgrade Check Results" in run(names / "bin" / "placement-status", "upgrade", "check")


def test_the_script_as_a_module_of_a_web_server(names, tmp_path, fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)

    def uwsgi(port: int) -> list[str]:
        socket = ["--http-socket", f"127.0.0.1:{port}", "--die-on-term", "--need-app"]
        file = ["--wsgi-file", str(names / "bin" / "placement-api")]
        return [str(SCRIPTS / "uwsgi"), "--master", "--enable-threads", *socket, *file]

    with server(uwsgi, tmp_path, environment(names, tmp_path, url)) as placement:
        assert placement.get("/")[0] == 200
        assert (
            placement.get("/traits", x_auth_token="admin", openstack_api_version="placement 1.39")[
                0
            ]
            == 200
        )


def test_the_script_run_by_hand(names, tmp_path, fresh_database):
    url = fresh_database("sqlite")
    schema.create(url)

    def script(port: int) -> list[str]:
        return [
            sys.executable,
            str(names / "bin" / "placement-api"),
            "-b",
            "127.0.0.1",
            "-p",
            str(port),
        ]

    with server(script, tmp_path, environment(names, tmp_path, url)) as placement:
        assert placement.get("/resource_providers", x_auth_token="admin")[0] == 200
        assert placement.stop() == 0


def test_policy_tools_find_the_rules(run):
    rules = run(SCRIPTS / "oslopolicy-list-redundant", "--namespace", "placement")
    assert rules.strip() == ""
    listed = run(SCRIPTS / "oslopolicy-policy-generator", "--namespace", "placement")
    assert '"placement:resource_providers:list"' in listed


def test_a_configuration_that_is_wrong_keeps_the_server_from_starting(run, tmp_path):
    (tmp_path / "placement.conf").write_text("")
    with pytest.raises(AssertionError, match=r"\[placement_database\]"):
        run("-c", "import placement.wsgi.api")
