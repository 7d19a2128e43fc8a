# SPDX-License-Identifier: Apache-2.0
"""The program that answers at once prints what the one that is started each time prints."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NOBODY = "00000000-0000-4000-8000-000000000000"
INSTALLED = Path(sys.executable).parent / "openstack"


@pytest.mark.parametrize(
    "command",
    [
        ("resource", "provider", "create", "host1", "--uuid", NOBODY),
        ("resource", "class", "delete", "VCPU"),
        ("resource", "provider", "usage", "show"),
    ],
    ids=["done", "refused", "misspelt"],
)
def test_it_is_the_same_program(
    placement_of: Callable[[str, str], str],
    operator: Callable[[str], dict[str, str]],
    command: tuple[str, ...],
) -> None:
    said = []
    for program in (INSTALLED, "openstack"):
        environment = operator(placement_of("empty", "trueup"))
        found = subprocess.run(
            ["/usr/bin/env", str(program), *command],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said.append((found.returncode, found.stdout, found.stderr))
    assert said[0] == said[1]
    assert any(said[0][1:])
