# SPDX-License-Identifier: Apache-2.0
"""What each extra is for can be imported with only the dependencies of that extra."""

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_house_rules import PRODUCT, is_within, keep
from tests.tree import PACKAGE, REPOSITORY

# By extra: the modules that must import with nothing else installed.
HALVES = {
    "reconcile": (
        "trueup.cli",
        "trueup.lab",
        "trueup.load",
        "trueup.reconcile",
        "trueup.shadow",
        "trueup.web",
    ),
    "service": (
        "trueup.cli.main",
        "trueup.cli.commands.page",
        "trueup.cli.commands.serve",
        "trueup.model",
        "trueup.placement",
        "trueup.web",
    ),
}
# It runs only inside of an alembic command, which sets up what it reads.
RUN_BY_ALEMBIC = ("trueup.placement.store.migrations.env",)

IMPORTING = """
import importlib, sys

absent, modules = (set(word.split(",")) for word in sys.argv[1:])

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for module in sorted(modules):
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        print(f"{module} needs {error.name}")
"""


def brought_by(extra: str) -> set[str]:
    """The distributions that `pip install trueup[extra]` brings, by their normal names."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    # A requirement, and the extras of the distribution that asks for it.
    wanted = [
        (Requirement(line), {""})
        for line in (*project["dependencies"], *project["optional-dependencies"][extra])
    ]
    while wanted:
        requirement, extras = wanted.pop()
        name, marker = canonicalize_name(requirement.name), requirement.marker
        applies = marker is None or any(marker.evaluate({"extra": one}) for one in extras)
        if applies and name not in found:
            found.add(name)
            below = {"", *requirement.extras}
            wanted += [(Requirement(line), below) for line in requirements_of(name)]
    return found


def requirements_of(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


@pytest.mark.parametrize("extra", HALVES)
def test_everything_imports_with_its_own_extra_alone(extra):
    brought = brought_by(extra)
    absent = {
        package
        for package, distributions in packages_distributions().items()
        if package != PACKAGE and not brought & {canonicalize_name(name) for name in distributions}
    }
    modules = [
        one.module
        for one in PRODUCT
        if is_within(one.module, HALVES[extra]) and one.module not in RUN_BY_ALEMBIC
    ]
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTING, ",".join(absent), ",".join(modules)],
        capture_output=True,
        text=True,
        check=False,
    )
    keep(
        [*ran.stdout.splitlines(), *ran.stderr.splitlines()[-1:]],
        f"add it to the extra '{extra}' of pyproject.toml, or import it where it is used",
    )


def test_the_service_brings_nothing_of_the_clients():
    brought = brought_by("service")
    assert "falcon" in brought
    assert "openstacksdk" not in brought
