# SPDX-License-Identifier: Apache-2.0
"""A command whose libraries are missing names the extra that installs them, all of them at once."""

import re
import subprocess
import sys

import pytest

# A program in which some modules cannot be found, as before `pip install`.
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from trueup.cli.main import main
sys.exit(main(sys.argv[2:]))
"""
SERVICE = "alembic,falcon,granian,numpy,orjson,oslo_middleware,oslo_policy"
RECONCILE = "keystoneauth1,msgspec,openstack"


def without(modules: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, modules, *words],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "modules", [SERVICE, RECONCILE, "werkzeug", f"{SERVICE},{RECONCILE},werkzeug"]
)
def test_a_demo_that_lacks_anything_asks_once_for_everything(modules):
    ran = without(modules, "demo")
    assert ran.returncode == 2
    assert ran.stderr.strip().endswith("pip install 'trueup[reconcile]'.")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("modules", "command", "extra"),
    [
        (SERVICE, "serve", "service"),
        (SERVICE, "why", "reconcile"),
        (RECONCILE, "audit", "reconcile"),
    ],
)
def test_a_command_without_its_half_says_how_to_install_it(modules, command, extra):
    ran = without(modules, command)
    assert ran.returncode == 2
    assert ran.stderr.strip().endswith(f"pip install 'trueup[{extra}]'.")
    assert len(ran.stderr.splitlines()) == 1


def test_the_list_of_commands_says_which_extra_each_lacks():
    listed = without(f"{SERVICE},{RECONCILE}", "--help").stdout
    assert "Could not load" not in listed
    lines = listed.partition("Find and repair:")[2].splitlines()
    rows = dict(re.split("  +", line.strip(), maxsplit=1) for line in lines if line[:2] == "  ")
    assert rows["rehearse"] == rows["audit"] == "(needs trueup[reconcile])"
    assert rows["serve"] == "(needs trueup[service])"
    assert rows["complete"].startswith("Print the completion")
