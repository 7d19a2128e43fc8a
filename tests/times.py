# SPDX-License-Identifier: Apache-2.0
"""`--times FILE`: where the time of a run went, as a table with a row for each file of tests.

A row has the seconds that its tests took by the clock, the seconds in which their worker and the
programs that it waited for used a processor, and the slowest test. A server that goes on running
after the test is not counted among the latter.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

OPTION = "--times"


@dataclass
class OfFile:
    """What the tests of one file took so far, and each of them by its name."""

    processor: float = 0.0
    tests: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def seconds(self) -> float:
        return sum(self.tests.values())

    def row(self, name: str) -> str:
        slowest = max(self.tests, key=lambda test: self.tests[test])
        return (
            f"{self.seconds:8.1f} {self.processor:9.1f} {len(self.tests):6}  {name}"
            f"  ({self.tests[slowest]:.1f} {slowest})"
        )


@dataclass(eq=False)
class Times:
    """The plugin of the process that hears of every test."""

    target: Path
    files: dict[str, OfFile] = field(default_factory=lambda: defaultdict(OfFile))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name, _, test = report.nodeid.partition("::")
        of_file = self.files[name]
        of_file.tests[test.partition("@")[0]] += report.duration
        of_file.processor += getattr(report, "processor", 0.0)

    def pytest_sessionfinish(self) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.target.write_text(self.table())

    def table(self) -> str:
        slowest_first = sorted(self.files.items(), key=lambda entry: -entry[1].seconds)
        count = sum(len(one.tests) for one in self.files.values())
        total = sum(one.seconds for one in self.files.values())
        processor = sum(one.processor for one in self.files.values())
        lines = [" seconds processor  tests  file (its slowest test)"]
        lines += [one.row(name) for name, one in slowest_first]
        lines.append(f"{total:8.1f} {processor:9.1f} {count:6}  in all")
        return "".join(f"{line}\n" for line in lines)


class Meter:
    """The plugin of every process that runs tests: it adds processor time to each report."""

    def __init__(self) -> None:
        self.used = _processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self.used = self.used, _processor_seconds()
        report.processor = self.used - before
        return report


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, type=Path, metavar="FILE", help="write where the time went")


def pytest_configure(config: pytest.Config) -> None:
    target = config.getoption(OPTION)
    if target is None:
        return
    config.pluginmanager.register(Meter(), "times-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(target.absolute()), "times")


def _processor_seconds() -> float:
    user, system, children_user, children_system, _ = os.times()
    return user + system + children_user + children_system
