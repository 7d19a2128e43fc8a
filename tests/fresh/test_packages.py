# SPDX-License-Identifier: Apache-2.0
"""The same machine once more, with all packages that the suite can use. It runs last."""

import pytest

from tests.fresh.machine import Machine
from tests.fresh.pages import SUITE
from tests.fresh.test_installed import install


@pytest.fixture(scope="module")
def equipped(machine: Machine, checkout: str) -> str:
    """The folder of the checkout, on a machine where README's `make packages` ran."""
    machine.run(f"cd {checkout} && make packages", "root")
    return checkout


def test_nothing_is_left_out(machine: Machine, equipped: str) -> None:
    """Some tests of the whole suite are root's, so only the quick suite forbids to skip."""
    forbidden = "TRUEUP_FORBID_SKIPS=1" if SUITE == "quick" else ""
    assert " passed" in machine.run(f"cd {equipped} && {forbidden} make {SUITE}")


@pytest.mark.parametrize(("extra", "module"), [("libvirt", "libvirt"), ("mysqlclient", "MySQLdb")])
def test_a_library_that_is_built_installs_alone(
    machine: Machine, equipped: str, extra: str, module: str
) -> None:
    folder = install(machine, equipped, extra)
    assert machine.run(f"{folder}/bin/python -c 'import {module}'") == ""
