# SPDX-License-Identifier: Apache-2.0
"""`site("trueup" | "upstream")`: one site a session for each Placement; `tracing` runs commands."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from tests.kills.site import Site, running_site
from tests.kills.tracing import Tracing, tracer
from tests.reconcile.small import build


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many processes were killed."""
    passed = terminalreporter.stats.get("passed", [])
    killed = [
        (report.nodeid.rpartition("::")[2], count)
        for report in passed
        for name, count in report.user_properties
        if name == "killed"
    ]
    for test, count in sorted(killed):
        terminalreporter.write_line(f"{test}: killed {count} times")
    if killed:
        terminalreporter.write_line(f"killed {sum(count for _, count in killed)} times in all")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    template = build(tmp_path_factory.mktemp("kills") / "cloud", failed=1)
    with ExitStack() as stack:

        @cache
        def start(placement: str) -> Site:
            folder = tmp_path_factory.mktemp(placement) / "cloud"
            return stack.enter_context(running_site(template, folder, placement))

        yield start


@pytest.fixture(scope="session")
def tracing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracing]:
    with tracer(tmp_path_factory.mktemp("tracer")) as running:
        yield running
