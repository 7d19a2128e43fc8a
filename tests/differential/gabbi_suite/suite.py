# SPDX-License-Identifier: Apache-2.0
"""Run one of upstream's gabbi files and say what came of it."""

import os
import tempfile
import types
import unittest
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import placement.tests.functional
import yaml
from gabbi import handlers, suitemaker
from oslotest import output
from placement.tests.functional.fixtures import capture, gabbits

from tests.differential.gabbi_suite.substitution import Substitution
from tests.servers.wsgi import factory_named

FOLDER = Path(placement.tests.functional.__file__).parent / "gabbits"
# What upstream 16.0.0 ships. Fewer would mean that tests got lost on the way to us.
TESTS_IN_ALL = 1316
# Upstream's fixtures ask the environment whether to keep to themselves what is printed and logged.
QUIET = {"OS_STDOUT_CAPTURE": "1", "OS_STDERR_CAPTURE": "1", "OS_LOG_CAPTURE": "1"}


@dataclass(frozen=True, slots=True)
class FileResult:
    """One file's outcome; failures are the names of its tests and what they said."""

    file: str
    tests: int
    passed: int
    failures: tuple[tuple[str, str], ...]

    @property
    def complete(self) -> bool:
        return self.passed == self.tests

    def report(self) -> str:
        lines = [f"{self.file}: {self.passed} of {self.tests} passed"]
        lines += [f"\n--- {name}\n{text}" for name, text in self.failures]
        return "\n".join(lines)


def file_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def content_of(file: str) -> dict:
    # PERF: gabbi's own way of reading takes as long as the requests do.
    return yaml.load((FOLDER / f"{file}.yaml").read_bytes(), Loader=yaml.CSafeLoader)


def run_file(file: str, implementation: str, database_url: str) -> FileResult:
    """`implementation` is module:callable; the database has upstream's tables, and no rows."""
    with tempfile.TemporaryDirectory() as folder:
        factory = factory_named(implementation)
        substitution = Substitution(factory, database_url, Path(folder))
        suite = _suite(file, substitution)
        outcome = _Outcome()
        with mock.patch.dict(os.environ, QUIET), substitution.installed():
            suite.run(outcome)
    return FileResult(file, suite.countTestCases(), outcome.passed, tuple(outcome.problems))


def _suite(file: str, substitution: Substitution) -> unittest.TestSuite:
    content = content_of(file)
    fixtures = {
        name: substitution.fixture(getattr(gabbits, name)) for name in content.get("fixtures", ())
    }
    return suitemaker.test_suite_from_dict(
        loader=unittest.TestLoader(),
        test_base_name=file,
        suite_dict=content,
        test_directory=str(FOLDER),
        host="placement.test",
        port=80,
        fixture_module=types.SimpleNamespace(**fixtures),
        intercept=substitution.intercept,
        handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
        inner_fixtures=[output.CaptureOutput, capture.Logging],
    )


class _Outcome(unittest.TestResult):
    """Counts what passed and keeps the text of the rest; a skip is no pass."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0
        self.problems: list[tuple[str, str]] = []

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.passed += 1

    # An expected failure is what the file says that it expects.
    def addExpectedFailure(self, test: unittest.TestCase, err: tuple) -> None:
        self.passed += 1

    def addFailure(self, test: unittest.TestCase, err: tuple) -> None:
        self._note(test, self._exc_info_to_string(err, test))

    def addError(self, test: unittest.TestCase, err: tuple) -> None:
        self._note(test, self._exc_info_to_string(err, test))

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._note(test, "it was expected to fail, and passed")

    def _note(self, test: unittest.TestCase, text: str) -> None:
        self.problems.append((test.test_data["name"], text))
