# SPDX-License-Identifier: Apache-2.0
"""The markers `long` and `grows`: what only `make conformance` runs, and what it runs with more.

`make test` leaves out `long`. What such a test proves with every parameter, another test proves
with some, or a target such as `make release` checks itself. A test that grows is in both: it takes
more examples, rounds and kills where the environment says how many. The markers are set while
tests are collected, so that no test carries them by hand.
"""

from functools import cache
from pathlib import Path

import pytest

MARKER, GROWING = "long", "grows"
TESTS = Path(__file__).parent
# Files, tests of all parameters, and tests of one.
LONG = frozenset(
    {
        # `make release` makes it twice and compares; a page's test installs what is built.
        "packaging/test_release.py",
        # Nova's and osc-placement's own tests. Of both, what is compared with ours stays.
        "cli/nova_manage/test_upstream.py",
        "clients/test_nova.py",
        "clients/test_their_suites.py::test_those_of_osc_placement",
        # That a tool of the tests is as good as the program.
        "clients/test_warm.py",
        # Kills: of each job of an operator one stays, and both Placements.
        "kills/test_healing.py",
        "kills/test_runbooks.py::test_a_merging_that_was_killed_is_completed_once_and_undone"
        "[trueup]",
        "kills/test_runbooks.py::test_a_rekeying_that_was_killed_is_completed_once_and_undone"
        "[upstream]",
        "kills/test_runbooks.py::test_a_retirement_that_was_killed_before_the_service_was_deleted"
        "_is_undone[upstream]",
    }
)
# Files and folders.
GROWS = frozenset(
    {
        "cli/test_repairs.py",
        "deployment/test_samples.py",
        "differential",
        "fuzz",
        "kills",
        "placement/index/search/test_candidates.py",
        "placement/index/test_current.py",
        "properties/test_crashes.py",
        "races",
        "simulator",
    }
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}: only `make conformance` runs it")
    config.addinivalue_line("markers", f"{GROWING}: `make conformance` runs it with more examples")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_long(item):
            item.add_marker(MARKER)
        if _grows(_path(item)):
            item.add_marker(GROWING)


def is_long(item: pytest.Item) -> bool:
    """Whether only `make conformance` runs this test."""
    path = str(_path(item))
    every = f"{path}::{item.name.partition('[')[0]}"
    return not LONG.isdisjoint({path, every, f"{path}::{item.name}"})


# PERF: once for each file; there are twenty times as many tests.
@cache
def _grows(path: Path) -> bool:
    return any(path.is_relative_to(name) for name in GROWS)


def _path(item: pytest.Item) -> Path:
    return item.path.relative_to(TESTS)
