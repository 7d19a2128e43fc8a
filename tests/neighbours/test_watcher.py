# SPDX-License-Identifier: Apache-2.0
"""Watcher's own functional tests, with our service in place of its emulator of Placement."""

import os
from collections.abc import Callable

import pytest

from tests.clients.test_their_suites import passed
from tests.neighbours.programs import python
from tests.servers.placement import placement_server
from tests.servers.upstream import create_tables

# Those that read a cloud; of python-watcher 17.0.0. Fewer would mean that some got lost.
MODULES = ("test_nova_model", "test_host_maintenance", "test_host_maintenance_scoped")
LEAST = 62
PYTEST = (
    "-m", "pytest", "-q", "--disable-warnings", "-c", os.devnull, "-p", "no:cacheprovider",
    "-p", "tests.neighbours.watcher_on_ours", "--pyargs",
)  # fmt: skip


@pytest.mark.timeout(1800)
def test_those_of_watcher(fresh_database: Callable[[str], str]) -> None:
    url = fresh_database("sqlite")
    create_tables(url)
    names = [f"watcher.tests.functional.{name}" for name in MODULES]
    with placement_server("trueup", url) as ours:
        said = python(*PYTEST, *names, PLACEMENT=ours.url)
    assert passed(said) >= LEAST, said
