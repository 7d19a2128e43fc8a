# SPDX-License-Identifier: Apache-2.0
"""Each half installs alone: it can be imported with only the dependencies of its own extra."""

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
    "demo": (
        "trueup.cli.commands.demo",
        "trueup.cli.commands.rehearse",
        "trueup.cli.commands.rebuild",
        "trueup.lab",
    ),
    "reconcile": ("trueup.cli", "trueup.reconcile", "trueup.shadow", "trueup.web"),
    "service": (
        "trueup.cli.main",
        "trueup.cli.commands.page",
        "trueup.cli.commands.serve",
        "trueup.cli.commands.why",
        "trueup.model",
        "trueup.placement",
        "trueup.web",
    ),
}
# Commands that need more than the reconcile half.
NOT_RECONCILE = (
    "trueup.cli.commands.demo",
    "trueup.cli.commands.page",
    "trueup.cli.commands.rehearse",
    "trueup.cli.fill",
    "trueup.cli.commands.rebuild",
    "trueup.cli.commands.serve",
    "trueup.cli.commands.why",
)
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
def test_each_half_imports_with_its_own_extra_alone(extra):
    brought = brought_by(extra)
    absent = {
        package
        for package, distributions in packages_distributions().items()
        if package != PACKAGE and not brought & {canonicalize_name(name) for name in distributions}
    }
    left_out = RUN_BY_ALEMBIC + (NOT_RECONCILE if extra == "reconcile" else ())
    modules = [
        one.module
        for one in PRODUCT
        if is_within(one.module, HALVES[extra]) and one.module not in left_out
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


@pytest.mark.parametrize(
    ("extra", "needs", "does_without"),
    [("reconcile", "keystoneauth1", "falcon"), ("service", "falcon", "openstacksdk")],
)
def test_the_halves_bring_different_things(extra, needs, does_without):
    brought = brought_by(extra)
    assert needs in brought
    assert does_without not in brought
