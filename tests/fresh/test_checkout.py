# SPDX-License-Identifier: Apache-2.0
"""README's commands in a checkout, with the packages that README asks for and nothing else."""

from tests.fresh.machine import Machine
from tests.fresh.pages import SUITE, commands


def test_what_readme_says_to_try_works(machine: Machine, checkout: str) -> None:
    _, demo, test = commands("README.md", "Try it")
    assert "0 findings." in machine.run(f"cd {checkout} && {demo}")
    assert test.startswith("make test ")
    printed = machine.run(f"cd {checkout} && {test.replace('test', SUITE, 1)}")
    assert " passed" in printed
    assert "install the package" in printed, "it says what was left out, and why"
