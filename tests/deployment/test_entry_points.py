# SPDX-License-Identifier: Apache-2.0
"""Every entry point of the distributions can be loaded."""

import tomllib
from importlib import import_module

import pytest

from tests.servers.placement import REPOSITORY

FILES = (REPOSITORY / "pyproject.toml", *REPOSITORY.glob("packaging/*/pyproject.toml"))


def promised() -> dict[str, str]:
    """Entry points of ours, by where they are said; test_names tries upstream's names."""
    projects = {file.parent.name: tomllib.loads(file.read_text())["project"] for file in FILES}
    groups = {
        f"{name} {group}": points
        for name, project in projects.items()
        for group, points in {
            "scripts": project.get("scripts", {}),
            **project["entry-points"],
        }.items()
    }
    return {
        f"{group} {name}": target
        for group, points in groups.items()
        for name, target in points.items()
        if target.startswith("trueup.")
    }


@pytest.mark.parametrize("target", promised().values(), ids=promised())
def test_every_entry_point_is_there(target):
    module, _, name = target.partition(":")
    loaded = import_module(module)
    # OpenStackClient's plugin is a whole module.
    assert not name or callable(getattr(loaded, name))
