# SPDX-License-Identifier: Apache-2.0
"""What Trueup promises about versions, tried: `make versions`.

Each trial is an environment of its own in .venv/versions: a Python, and a set of versions of
everything that Trueup uses. It runs the quick tests, and upstream's HTTP tests on each database
with each of its drivers. The sets:

    lowest      the lowest versions that pyproject.toml declares, and the newest of what these need
    newest      the newest of everything
    2023.2 ...  what OpenStack pins in that release, from tools/versions/. A version that
                pyproject.toml refuses is left out, and printed

    python tools/versions.py                    all of TRIALS, for which this machine has a Python
    python tools/versions.py lowest-3.11 2025.2-3.12
    python tools/versions.py newest-3.13/quick  the quick tests alone; /HTTP the others
    python tools/versions.py pins FOLDER        write tools/versions/ anew, from a clone of
                                                openstack/requirements

Upstream's nova, Placement and its client are installed without the versions that they ask for: they
are what the tests compare with, and must not decide about what Trueup stands on. uv installs
everything: pip takes too long to find versions that suit the lowest ones.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PINS = ROOT / "tools" / "versions"
ENVIRONMENTS = ROOT / ".venv" / "versions"
WORKERS = os.environ.get("WORKERS", "2")
UV = Path(sys.executable).with_name("uv")
# By release of OpenStack: where openstack/requirements has its last pins.
RELEASES = {
    "2023.2": "2023.2-eol",
    "2024.1": "unmaintained/2024.1",
    "2024.2": "2024.2-eol",
    "2025.1": "stable/2025.1",
    "2025.2": "stable/2025.2",
    "2026.1": "stable/2026.1",
    # It was not branched when this was written.
    "2026.2": "master",
}
# Each release of OpenStack with a Python that it supports. The farthest from what `make test` has
# come first.
TRIALS = (
    "lowest-3.11",
    "newest-3.13",
    "2023.2-3.11",
    "2026.2-3.13",
    "2025.1-3.12",
    "lowest-3.13",
    "lowest-3.12",
    "newest-3.12",
    "2024.1-3.11",
    "2024.2-3.11",
    "2025.2-3.12",
    "2026.1-3.13",
    "newest-3.11",
)
# What ours need in turn, where a release pins less.
NEEDED_IN_TURN = (Requirement("typing_extensions>=4.6"),)
COMPARED_WITH = ("nova", "openstack-placement", "osc-placement")
OURS = ".[all,osc,profiler,mysqlclient,libvirt]"
# What no test of a trial asks for: linters, clients and the site. They need new versions of
# libraries that Trueup uses too.
LEFT_OUT = {
    "ansible-core",
    "bashate",
    "check-jsonschema",
    "coverage",
    "furo",
    "import-linter",
    "mypy",
    "myst-parser",
    "python-openstackclient",
    "ruff",
    "sphinx",
    "sphinx-copybutton",
    "towncrier",
    "uv",
    "zizmor",
}
HTTP = "upstream's HTTP tests"
SUITES = {
    HTTP: ("tests/differential/test_gabbi.py",),
    "quick tests": ("-m", "quick", "--ignore=tests/docs", "--ignore=tests/packaging"),
}
# With every driver, and with no database left out.
ENVIRONMENT = {HTTP: {"TRUEUP_EXAMPLES": "1", "TRUEUP_FORBID_SKIPS": "1"}}
VERSION_OF = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
NEEDED_BY = """
import importlib.metadata, sys
from packaging.requirements import Requirement
for name in sys.argv[1:]:
    for line in importlib.metadata.requires(name) or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            print(needed.name)
"""


class NotInstalled(Exception):
    """There is no such set of versions; the text is the end of what the installer said."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A set of versions on a Python, as `lowest-3.11`, and which of SUITES; without, all."""

    name: str
    suite: str = ""

    @property
    def versions(self) -> str:
        return self.name.rpartition("-")[0]

    @property
    def python(self) -> str:
        return f"python{self.name.rpartition('-')[2]}"

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.name

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name


def declared(python: str) -> tuple[list[Requirement], list[Requirement]]:
    """What Trueup needs on a Python, with all extras; and what its tests need besides."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(one for name in extras for one in extras[name])]
    here = {"python_version": python.removeprefix("python"), "extra": ""}

    def wanted(lines: list[str]) -> list[Requirement]:
        found = map(Requirement, lines)
        return [
            one
            for one in found
            if one.name not in ("trueup", *COMPARED_WITH)
            and (one.marker is None or one.marker.evaluate(here))
        ]

    return wanted([one for one in lines if one not in extras["test"]]), wanted(extras["test"])


def lowest(needed: list[Requirement]) -> Iterator[str]:
    """Each lower bound as the version itself."""
    bounds: dict[str, list[Version]] = {}
    for one in needed:
        [bound] = [Version(each.version) for each in one.specifier if each.operator == ">="]
        bounds.setdefault(canonicalize_name(one.name), []).append(bound)
    yield from (f"{name}=={max(versions)}" for name, versions in bounds.items())


def pinned(release: str, needed: list[Requirement]) -> Iterator[str]:
    """What a release of OpenStack pins, but for what Trueup refuses."""
    for line in (PINS / f"{release}.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        pin = Requirement(line)
        [version] = [one.version for one in pin.specifier]
        ours = [one for one in needed if canonicalize_name(one.name) == name_of(line)]
        refused = [str(one.specifier) for one in ours if not one.specifier.contains(version)]
        if refused:
            say(f"  not {pin.name} {version}: it has to be {', '.join(refused)}")
        else:
            yield line


def name_of(line: str) -> str:
    return canonicalize_name(Requirement(line).name)


def constraints(trial: Trial) -> list[str]:
    needed, tools = declared(trial.python)
    if trial.versions == "newest":
        return []
    if trial.versions == "lowest":
        return list(lowest(needed))
    # Not of what runs the tests; pluggy is a part of pytest, and Nova 34 needs a new oslo.service.
    running = {"pluggy", "oslo-service", *(canonicalize_name(one.name) for one in tools)}
    pins = pinned(trial.versions, [*needed, *NEEDED_IN_TURN])
    return [pin for pin in pins if name_of(pin) not in running]


def install(trial: Trial) -> None:
    """Make the environment of a trial; it is kept until its versions change."""
    wanted = "\n".join(constraints(trial)) + "\n"
    noted = trial.folder / "constraints.txt"
    if noted.is_file() and noted.read_text() == wanted and trial.versions != "newest":
        return
    python = str(trial.program("python"))
    run(trial.python, "-m", "venv", "--clear", "--without-pip", str(trial.folder))
    chosen = trial.folder / "chosen.txt"
    chosen.write_text(wanted)
    installing = (str(UV), "pip", "install", "--quiet", "--system-certs", "--python", python)
    compared = [f"{name}{version}" for name, version in compared_with().items()]
    run(*installing, "--no-deps", *compared, "packaging")
    needed = run(python, "-c", NEEDED_BY, *COMPARED_WITH).split()
    # By name: how old a tool may be depends on the versions that are tried.
    tools = [one.name for one in declared(trial.python)[1] if one.name not in LEFT_OUT]
    run(*installing, "--constraint", str(chosen), "--editable", OURS, *tools, *needed)
    chosen.rename(noted)


def compared_with() -> dict[str, str]:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found = {one.name: str(one.specifier) for one in map(Requirement, extras["test"])}
    return {name: found[name] for name in COMPARED_WITH}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(*command: str) -> str:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise NotInstalled("\n".join((ran.stdout + ran.stderr).splitlines()[-15:]))
    return ran.stdout


def suites(trial: Trial) -> dict[str, tuple[str, ...]]:
    """What pytest is told for each suite.

    Upstream's files about `enforce_scope = false` expect that it is ignored, as since oslo.policy
    6.0. Before that it is honored, by upstream's service as by ours.
    """
    found = [str(trial.program("python")), "-c", VERSION_OF, "oslo.policy"]
    older = Version(run(*found).strip()) < Version("6.0")
    left_out = {HTTP: ("-k", "not legacy-rbac")} if older else {}
    return {
        name: (*words, *left_out.get(name, ()))
        for name, words in SUITES.items()
        if trial.suite in name
    }


def tried(trial: Trial) -> dict[str, str]:
    """The last line of each suite; a whole log is beside the environment."""
    results = {}
    for name, words in suites(trial).items():
        pytest = (trial.program("pytest"), "-n", WORKERS, "--dist", "loadgroup", "-q", *words)
        given = os.environ | ENVIRONMENT.get(name, {})
        ran = subprocess.run(
            pytest, cwd=ROOT, env=given, capture_output=True, text=True, check=False
        )
        (trial.folder / f"{name.split()[0]}.log").write_text(ran.stdout + ran.stderr)
        last = (ran.stdout.splitlines() or [""])[-1].strip("= ")
        results[name] = last if ran.returncode == 0 else f"FAILED: {last}"
    return results


def write_pins(clone: str) -> None:
    """Copy what OpenStack pins of the packages that our own tests run with."""
    ours = {
        canonicalize_name(Requirement(line).name)
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    }
    for release, place in RELEASES.items():
        commit, day = run("git", "-C", clone, "log", "-1", "--format=%h %as", place).split()
        pins = run("git", "-C", clone, "show", f"{commit}:upper-constraints.txt").splitlines()
        shared = [line for line in pins if canonicalize_name(re.split("===", line)[0]) in ours]
        source = f"# openstack/requirements, {place} ({commit}, {day}): upper-constraints.txt"
        (PINS / f"{release}.txt").write_text("\n".join([source, *sorted(shared), ""]))


def main(words: list[str]) -> int:
    if words[:1] == ["pins"]:
        write_pins(words[1])
        return 0
    failed = False
    for word in words or TRIALS:
        name, _, suite = word.partition("/")
        trial = Trial(name, suite)
        say(word)
        try:
            install(trial)
            results = tried(trial)
        except (NotInstalled, FileNotFoundError) as error:
            results = {"installed": f"FAILED: {error}"}
        for name, result in results.items():
            say(f"  {name}: {result}")
        failed |= not results or any(one.startswith("FAILED") for one in results.values())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
