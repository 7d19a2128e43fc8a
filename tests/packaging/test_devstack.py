# SPDX-License-Identifier: Apache-2.0
"""The DevStack plugin, run as stack.sh does: sourced with a mode and a phase, errors end it.

DevStack's own functions are stand-ins, with their names and arguments, that write what they are
asked for.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import REPOSITORY

PLUGIN = REPOSITORY / "devstack"
BASHATE = Path(sys.executable).parent / "bashate"
PHASES = (
    *(f"stack {phase}" for phase in ("pre-install", "install", "post-config", "extra")),
    "stack test-config",
    "unstack",
    "clean",
)
STACK = r"""
set -o errexit
declare -A GITDIR
function is_service_enabled { [[ ",$ENABLED_SERVICES," == *",$1,"* ]]; }
function define_plugin { :; }
function trueorfalse { local set=${!2:-$1}; echo "$set"; }
function echo_summary { echo "$@" >&2; }
function pip_install { echo "pip_install $@"; }
function pip_uninstall { echo "pip_uninstall $1 of ${PIP_VIRTUAL_ENV:-the system}"; }
PLACEMENT_BIN_DIR=$PWD NOVA_CONF=/etc/nova/nova.conf DEST=/opt/stack
source "$PLUGIN/settings"
source "$PLUGIN/plugin.sh" $CALLED
echo "goes on"
"""
AUDIT = '#!/bin/sh\necho "trueup $*"; exit 3\n'
OF_THE_SYSTEM = {"GLOBAL_VENV": "False"}
OF_A_VENV = {"GLOBAL_VENV": "True", "DEVSTACK_VENV": "/opt/stack/data/venv"}
REPLACED = [
    "pip_uninstall openstack-placement of /opt/stack/data/venv",
    "pip_install /opt/stack/trueup[service,reconcile,mysql]"
    " /opt/stack/trueup/packaging/placement-names",
]


def asked(folder: Path, called: str, **given: str) -> list[str]:
    """What a phase asks DevStack for, or runs."""
    audit = folder / "trueup"
    audit.write_text(AUDIT)
    audit.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "PLUGIN": str(PLUGIN),
        "CALLED": called,
        "ENABLED_SERVICES": "n-api,placement-api",
    }
    ran = subprocess.run(
        ["bash", "-c", STACK],
        cwd=folder,
        env=environment | OF_A_VENV | given,
        capture_output=True,
        text=True,
        check=False,
    )
    *lines, last = ran.stdout.splitlines()
    assert (ran.returncode, last) == (0, "goes on"), ran.stderr
    return lines


def test_the_package_is_replaced_when_upstreams_is_installed(tmp_path):
    assert asked(tmp_path, "stack install") == REPLACED


def test_it_is_replaced_where_devstack_installs_without_an_environment(tmp_path):
    found = asked(tmp_path, "stack install", **OF_THE_SYSTEM)
    assert found == ["pip_uninstall openstack-placement of the system", REPLACED[1]]


def test_findings_of_the_audit_do_not_end_stack(tmp_path):
    found = asked(tmp_path, "stack test-config")
    assert found == ["trueup audit --nova-conf /etc/nova/nova.conf"]


@pytest.mark.parametrize(
    "given", [{"TRUEUP_AUDIT": "False"}, {"ENABLED_SERVICES": "placement-api"}]
)
def test_no_audit_where_it_is_not_wanted_or_nova_is_elsewhere(tmp_path, given):
    assert asked(tmp_path, "stack test-config", **given) == []


def test_unstack_leaves_the_names_to_upstream(tmp_path):
    assert asked(tmp_path, "unstack") == [
        "pip_uninstall trueup-placement-names of /opt/stack/data/venv"
    ]


@pytest.mark.parametrize(
    "called", ["stack pre-install", "stack post-config", "stack extra", "clean"]
)
def test_the_other_phases_are_devstacks(tmp_path, called):
    assert asked(tmp_path, called) == []


@pytest.mark.parametrize("called", PHASES)
def test_a_host_without_placement_is_left_alone(tmp_path, called):
    assert asked(tmp_path, called, ENABLED_SERVICES="n-cpu,placement-client") == []


def test_local_conf_chooses_checkout_and_extras(tmp_path):
    given = {"TRUEUP_DIR": "/src/trueup", "TRUEUP_EXTRAS": "all"}
    installed = asked(tmp_path, "stack install", **given)[-1]
    assert installed == "pip_install /src/trueup[all] /src/trueup/packaging/placement-names"


def test_devstacks_checker_accepts_it():
    # A file of settings has no first line for a shell, in every plugin.
    command = [BASHATE, "--ignore", "E005", PLUGIN / "plugin.sh", PLUGIN / "settings"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_extras_exist():
    [extras] = re.findall(r"TRUEUP_EXTRAS:-([a-z,]+)", (PLUGIN / "settings").read_text())
    project = (REPOSITORY / "pyproject.toml").read_text()
    for extra in extras.split(","):
        assert re.search(rf"^{extra} = \[", project, re.MULTILINE)
