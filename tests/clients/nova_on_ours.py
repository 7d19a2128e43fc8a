# SPDX-License-Identifier: Apache-2.0
"""Runs Nova's own functional tests with our service where they start upstream's, and audits them.

The words of the command line are names of modules or tests below nova.tests.functional. A line of
standard output is a document: the name of a test, why it failed, or nothing, and what an audit
finds when the test's last line has run, before its services are taken down; null: not audited.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import nova.tests.functional  # noqa: F401 - first: it refuses after eventlet

from tests.clients import on_ours  # isort: skip - before Nova's fixture inherits from upstream's

from nova.test import TestCase
from nova.tests.functional.fixtures import PlacementFixture

from tests.cli.running import trueup
from tests.clients.nova_services import CURRENT, make_ready, written_conf

# Nova may still be between two requests when a test ends.
LOOKS, BETWEEN_SECONDS = 5, 0.4
FINDINGS, INCOMPLETE = 3, 5


class Result(unittest.TestResult):
    """Prints a document for each test when it ends."""

    found: Any = None

    def addSuccess(self, test: Any) -> None:
        self._tell(test, "")

    def addFailure(self, test: Any, error: Any = None, details: Any = None) -> None:
        text = details["traceback"].as_text() if details else str(error)
        self._tell(test, text[-3000:])

    addError = addFailure

    def audit(self) -> None:
        """Keep what is wrong at the end of a test, if it has a ledger and Nova's databases."""
        if CURRENT.placement is not None and CURRENT.cells is not None:
            self.found = lasting_findings()

    def _tell(self, test: Any, why: str) -> None:
        document = {"test": test.id(), "why": why, "found": self.found}
        sys.__stdout__.write(json.dumps(document) + "\n")
        sys.__stdout__.flush()
        self.found = None
        CURRENT.forget()


def lasting_findings() -> list[Any] | None:
    """Findings that are still there after a while; None: the test has stopped what is asked."""
    found = None
    for _ in range(LOOKS):
        with tempfile.TemporaryDirectory() as folder:
            conf = written_conf(Path(folder))
            ran = trueup("audit", "--nova-conf", conf, "-f", "json", "--grace", "0")
        assert ran.code != 1, ran.err
        if ran.code not in (FINDINGS, INCOMPLETE):
            return []
        found = ran.json()["findings"] if ran.out else None
        time.sleep(BETWEEN_SECONDS)
    return found


def main(names: list[str]) -> None:
    assert issubclass(PlacementFixture, on_ours.Ours)
    make_ready()
    result, tear_down = Result(), TestCase.tearDown

    def audited(test: Any) -> None:
        result.audit()
        tear_down(test)

    TestCase.tearDown = audited
    tests = unittest.defaultTestLoader.loadTestsFromNames(
        [f"nova.tests.functional.{name}" for name in names]
    )
    with contextlib.redirect_stderr(sys.stderr):
        tests.run(result)


if __name__ == "__main__":
    main(sys.argv[1:])
