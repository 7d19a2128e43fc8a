# SPDX-License-Identifier: Apache-2.0
"""packaging/ansible, as far as it can be read without a host. `make fresh` runs its playbooks."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.tree import REPOSITORY

FOLDER = REPOSITORY / "packaging" / "ansible"
ROLE = FOLDER / "roles" / "trueup"
PLAYBOOKS = sorted(FOLDER.glob("*.yml"))
UNIT = REPOSITORY / "packaging" / "watch" / "trueup-watch.service"


def read(path: Path) -> object:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda one: one.stem)
def test_ansible_accepts_the_playbook(playbook, tmp_path):
    programs = Path(sys.executable).parent
    command = [programs / "ansible-playbook", "--syntax-check", "--inventory", "localhost,"]
    environment = {"PATH": str(programs), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(
        [*command, playbook], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, "ERROR" in ran.stderr) == (0, False), ran.stderr


def test_each_playbook_has_tasks_with_its_options_described():
    names = {path.stem for path in PLAYBOOKS}
    assert names == set(read(ROLE / "meta" / "argument_specs.yml")["argument_specs"])
    assert names < {path.stem for path in (ROLE / "tasks").glob("*.yml")}


def test_each_option_has_the_default_that_is_described():
    described = {}
    for part in read(ROLE / "meta" / "argument_specs.yml")["argument_specs"].values():
        described |= {name: option["default"] for name, option in part["options"].items()}
    assert described == read(ROLE / "defaults" / "main.yml")


def test_the_unit_has_what_the_role_replaces():
    replaced = (ROLE / "tasks" / "watch.yml").read_text()
    for path in ("/usr/bin/trueup", "/etc/nova/nova.conf"):
        assert f"replace('{path}'" in replaced
        assert UNIT.read_text().count(path) == 1
