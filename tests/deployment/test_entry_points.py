# SPDX-License-Identifier: Apache-2.0
"""What the distributions promise to other programs by name is there."""

import tomllib
from importlib import import_module

import pytest

from tests.servers.placement import REPOSITORY


def promised() -> dict[str, str]:
    """Entry points of ours, by where they are said; test_names tries upstream's names."""
    found = {}
    for file in (REPOSITORY / "pyproject.toml", *REPOSITORY.glob("packaging/*/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        for group, points in {"scripts": project["scripts"], **project["entry-points"]}.items():
            for name, target in points.items():
                if target.startswith("trueup."):
                    found[f"{file.parent.name} {group} {name}"] = target
    return found


@pytest.mark.parametrize("target", promised().values(), ids=promised())
def test_every_entry_point_is_there(target):
    module, _, name = target.partition(":")
    assert callable(getattr(import_module(module), name))
