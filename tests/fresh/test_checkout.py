# SPDX-License-Identifier: Apache-2.0
"""README's commands in a checkout, with the packages that README asks for and nothing else."""

from tests.fresh.machine import Machine
from tests.fresh.pages import commands


def test_the_demo_of_readme_works(machine: Machine, checkout: str) -> None:
    _, demo, _ = commands("README.md", "Try it")
    assert "0 findings." in machine.run(f"cd {checkout} && {demo}")


def test_the_suite_of_readme_passes_and_says_what_it_left_out(left_out: dict[str, str]) -> None:
    assert left_out
    for reason in left_out.values():
        assert "install the package" in reason or "as root" in reason
