# SPDX-License-Identifier: Apache-2.0
"""A page about what a run has shown, written by the run itself: docs/verified.md."""

import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.real.cloud.placement import KINDS
from tests.real.cloud.site import ENVIRONMENTS

PACKAGES = {
    "openstack": (
        "nova", "openstack-placement", "neutron", "keystone", "glance", "python-openstackclient",
        "osc-placement", "pyuwsgi",
    ),
    "trueup": ("trueup", "pyuwsgi"),
}  # fmt: skip

WITH = {"upstream": ", with upstream's Placement", "trueup": ", with Trueup's"}
DAY = "## A long day\n"
# The tests of the rig's own parts show nothing about Trueup.
PARTS = "tests/real/cloud/"


@dataclass
class Verified:
    """A pytest plugin: it hears of every test, and writes the page if all of them passed."""

    page: Path
    started: float = field(default_factory=time.monotonic)
    reports: list[pytest.TestReport] = field(default_factory=list)
    servers: dict[str, str] = field(default_factory=dict)

    stood_up_seconds: float = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.reports.append(report)
        elif report.when == "setup":
            # The first test that asks for the cloud waits until it stands.
            self.stood_up_seconds = max(self.stood_up_seconds, report.duration)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and self.servers:
            self.page.write_text("\n".join(self._lines()) + _day_on(self.page))

    def note_servers(self, logs: Path, mariadb: str) -> None:
        """Remember the versions of what does not come from a Python package."""
        found = re.search(r"RabbitMQ (\d+\.\d+\.\d+)", (logs / "rabbitmq.log").read_text())
        self.servers = {
            "MariaDB": mariadb.partition("-")[0],
            "RabbitMQ": found[1] if found else "unknown",
            "Python": platform.python_version(),
        }

    def _lines(self) -> Iterator[str]:
        minutes = (time.monotonic() - self.started) / 60
        yield "# Verified on a real OpenStack\n"
        yield (
            "Written by `make real` when all of its tests passed: keystone, Nova (two cells, "
            "three hosts with the fake driver), Neutron, glance, MariaDB and RabbitMQ on one "
            "machine, with keystone's authentication and Placement's policies on; first with "
            "upstream's Placement, then with Trueup's, behind the same URL of the catalog.\n"
        )
        yield (
            f"Last run: {datetime.now(UTC):%Y-%m-%d}, {minutes:.0f} minutes, of which "
            f"{self.stood_up_seconds:.0f} seconds to stand the cloud up; load average at the end "
            f"{os.getloadavg()[2]:.1f} on {os.cpu_count()} processors.\n"
        )
        yield "## Versions\n"
        yield "| what | version |\n|---|---|"
        for name, version in (_package_versions() | self.servers).items():
            yield f"| {name} | {version} |"
        yield "\n## Scenarios\n"
        yield "Seconds that each took:\n"
        yield "| scenario | with upstream's Placement | with Trueup's |\n|---|---|---|"
        scenarios = self._by_name()
        for name, by_kind in scenarios.items():
            cells = [_seconds(by_kind.get(kind)) for kind in KINDS]
            if "" in by_kind:
                cells = ["", _seconds(by_kind[""])]
            yield f"| {_in_words(name)} | {' | '.join(cells)} |"
        yield "\nWhat they counted:\n"
        for name, by_kind in scenarios.items():
            for kind, report in by_kind.items():
                if report.user_properties:
                    yield f"- {_in_words(name)}{WITH.get(kind, '')}: {_counts(report)}"
        yield ""

    def _by_name(self) -> dict[str, dict[str, pytest.TestReport]]:
        """Name of the test → kind of Placement, or nothing where it needs both → report."""
        found: dict[str, dict[str, pytest.TestReport]] = {}
        for report in self.reports:
            if PARTS in report.nodeid:
                continue
            name, _, parameter = report.nodeid.partition("::")[2].partition("[")
            found.setdefault(name, {})[parameter.rstrip("]")] = report
        return found


def _package_versions() -> dict[str, str]:
    versions = {}
    for environment, names in PACKAGES.items():
        folders = [str(one) for one in (ENVIRONMENTS / environment).glob("lib/*/site-packages")]
        there = {one.name: one.version for one in importlib.metadata.distributions(path=folders)}
        versions |= {name: there[name] for name in names if name in there}
    return versions


def _seconds(report: pytest.TestReport | None) -> str:
    return f"{report.duration:.0f} s" if report else ""


def _counts(report: pytest.TestReport) -> str:
    return ", ".join(f"{value} {name}" for name, value in report.user_properties)


def _in_words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


def _day_on(page: Path) -> str:
    """The section that `make day` wrote: `make real` keeps it."""
    _, heading, section = page.read_text().partition(f"\n{DAY}") if page.exists() else ("",) * 3
    return heading + section
