# SPDX-License-Identifier: Apache-2.0
"""The same machine once more, with all packages that the suite can use. It runs last."""

import shlex

import pytest

from tests.fresh.machine import Machine
from tests.fresh.test_installed import install


@pytest.fixture(scope="module")
def equipped(machine: Machine, checkout: str) -> str:
    """The folder of the checkout, on a machine where README's `make packages` ran."""
    machine.run(f"cd {checkout} && make packages", "root")
    return checkout


def test_what_was_left_out_runs(machine: Machine, equipped: str, left_out: dict[str, str]) -> None:
    """All but what is root's: what ran before runs no second time."""
    names = shlex.join(name for name, reason in left_out.items() if "as root" not in reason)
    machine.run(
        f"cd {equipped} && make .venv/.ready-test"
        f" && TRUEUP_FORBID_SKIPS=1 .venv/bin/pytest -q {names}"
    )


@pytest.mark.parametrize(("extra", "module"), [("libvirt", "libvirt"), ("mysqlclient", "MySQLdb")])
def test_a_library_that_is_built_installs_alone(
    machine: Machine, equipped: str, extra: str, module: str
) -> None:
    folder = install(machine, equipped, extra)
    assert machine.run(f"{folder}/bin/python -c 'import {module}'") == ""
