# SPDX-License-Identifier: Apache-2.0
"""Fresh machines. `make fresh` runs the tests of this folder, and nothing else does.

Without `--fresh` they are not collected at all: making a machine takes root, and a minute or two.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh.machine import BARE, Machine, fresh_machine
from tests.fresh.pages import SUITE, commands

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fresh", action="store_true", help="make the machines of tests/fresh")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    ours = collection_path.parent == HERE and collection_path.suffix == ".py"
    return True if ours and not config.getoption("--fresh", default=False) else None


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """One for all tests, on the disk. pytest's own folders would be kept for three runs."""
    BARE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=BARE))
    try:
        yield fresh_machine(folder)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture(scope="session")
def checkout(machine: Machine) -> str:
    """The folder of a checkout, on the machine with the packages that README asks for."""
    installing, *_ = commands("README.md", "Try it")
    assert installing.startswith("apt-get install ")
    machine.run(f"{installing.partition('#')[0]} --yes --no-install-recommends", "root")
    return machine.put_checkout()


@pytest.fixture(scope="session")
def left_out(machine: Machine, checkout: str) -> dict[str, str]:
    """README's suite, passed on this machine: each test that it skipped, and why."""
    *_, suite = commands("README.md", "Try it")
    assert suite.startswith("make test ")
    run = f"PYTEST_ADDOPTS=--no-fold-skipped {suite.replace('test', SUITE, 1)}"
    printed = machine.run(f"cd {checkout} && {run}")
    assert " passed" in printed
    return dict(re.findall(r"^SKIPPED (.+?) - Skipped: (.*)$", printed, re.MULTILINE))
