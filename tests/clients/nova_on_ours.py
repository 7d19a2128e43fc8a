# SPDX-License-Identifier: Apache-2.0
"""Runs Nova's own functional tests with our service where they start upstream's.

The words of the command line are names of modules or tests below nova.tests.functional. A line of
standard output is a document: the name of a test, and why it failed, or nothing.
"""

import contextlib
import json
import os
import sys
import unittest
from pathlib import Path
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import fixtures
import nova.tests.functional  # noqa: F401 - first: it refuses after eventlet

from tests.clients import on_ours  # isort: skip - before Nova's fixture inherits from upstream's

from nova.tests.fixtures import WarningsFixture
from nova.tests.fixtures import conf as conf_fixture
from nova.tests.functional.fixtures import PlacementFixture


class Result(unittest.TestResult):
    """Prints a document for each test when it ends."""

    def addSuccess(self, test: Any) -> None:
        self._tell(test, "")

    def addFailure(self, test: Any, error: Any = None, details: Any = None) -> None:
        text = details["traceback"].as_text() if details else str(error)
        self._tell(test, text[-3000:])

    addError = addFailure

    def _tell(self, test: Any, why: str) -> None:
        sys.__stdout__.write(json.dumps({"test": test.id(), "why": why}) + "\n")
        sys.__stdout__.flush()


def main(names: list[str]) -> None:
    assert issubclass(PlacementFixture, on_ours.Ours)
    # Nova's own fixture turns warnings of newer libraries into errors.
    WarningsFixture.setUp = fixtures.Fixture.setUp
    # Nova's package puts its files of configuration beside Python's own.
    conf_fixture.paths.state_path_def = lambda *parts: str(Path(sys.prefix, *parts))
    tests = unittest.defaultTestLoader.loadTestsFromNames(
        [f"nova.tests.functional.{name}" for name in names]
    )
    with contextlib.redirect_stderr(sys.stderr):
        tests.run(Result())


if __name__ == "__main__":
    main(sys.argv[1:])
