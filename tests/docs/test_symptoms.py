# SPDX-License-Identifier: Apache-2.0
"""Every heading of docs/symptoms.md is in the code of Nova or Placement; … stands for a value."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tree import REPOSITORY

PAGE = (REPOSITORY / "docs/symptoms.md").read_text()
LINES = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
PRINTED_IN = {
    "nova": (
        "api/openstack/compute/services.py",
        "cmd/manage.py",
        "compute/manager.py",
        "compute/resource_tracker.py",
        "exception.py",
        "scheduler/client/report.py",
        "scheduler/manager.py",
    ),
    "placement": ("exception.py", "objects/allocation.py"),
}


@cache
def printed() -> str:
    """Every text in the code of these files, as Python joins its parts."""
    found = []
    for package, names in PRINTED_IN.items():
        folder = Path(find_spec(package).origin).parent
        for name in names:
            nodes = ast.walk(ast.parse((folder / name).read_text()))
            texts = (node.value for node in nodes if isinstance(node, ast.Constant))
            found += [text for text in texts if isinstance(text, str)]
    return "\n".join(found)


@pytest.mark.parametrize("line", LINES)
def test_a_symptom_is_what_upstream_prints(line):
    assert all(part.strip("' ") in printed() for part in line.split("…"))


def test_the_page_has_symptoms():
    assert len(LINES) > 10
