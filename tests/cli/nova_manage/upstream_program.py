# SPDX-License-Identifier: Apache-2.0
"""Runs Nova's own functional tests of `nova-manage placement` with ours in nova-manage's place.

The words of the command line are the names of tests. A line of standard output is a document: the
name of a test, and why it failed, or nothing.
"""

import contextlib
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

# First: it sets Nova up.
from tests.clients.nova_services import make_ready, written_conf  # isort: skip

from nova.cmd import manage
from nova.tests.functional import test_nova_manage

from tests.cli.running import trueup


class PlacementCommands:
    """What Nova's class of this name does, done by our program."""

    def heal_allocations(self, **options: Any) -> int:
        return run("heal_allocations", options)

    def audit(self, **options: Any) -> int:
        return run("audit", options)

    def sync_aggregates(self, **options: Any) -> int:
        return run("sync_aggregates", options)


WORDS = {
    "instance_uuid": "--instance",
    "cell_uuid": "--cell",
    "provider_uuid": "--resource_provider",
}


def run(action: str, options: dict[str, Any]) -> int:
    """Run our command line as a shell would run Nova's; what it prints is the test's output."""
    # A test may have a request in flight that still writes to the databases.
    with tempfile.TemporaryDirectory() as folder:
        words: list[Any] = ["--config-file", written_conf(Path(folder)), "placement", action]
        for name, value in options.items():
            option = WORDS.get(name, f"--{name.replace('_', '-')}")
            if value is True:
                words.append(option)
            elif value:
                words += [option, value]
        words += ["--interval", "0.1", "--state-dir", Path(folder) / "state"]
        ran = trueup("nova-manage", *words)
    sys.stdout.write(ran.out)
    if os.environ.get("TRUEUP_SHOWN"):
        sys.__stderr__.write(f"{words}\n{ran.out}{ran.err}-> {ran.code}\n")
    return ran.code


class Result(unittest.TestResult):
    """Prints a document for each test when it ends."""

    def addSuccess(self, test: Any) -> None:
        tell(test, "")

    def addFailure(self, test: Any, error: Any = None, details: Any = None) -> None:
        text = details["traceback"].as_text() if details else str(error)
        tell(test, text[-3000:])

    addError = addFailure


def tell(test: Any, why: str) -> None:
    name = ".".join(test.id().split(".")[-2:])
    sys.__stdout__.write(json.dumps({"test": name, "why": why}) + "\n")
    sys.__stdout__.flush()


def main(names: list[str]) -> None:
    make_ready()
    if "--nova" not in names:
        manage.PlacementCommands = PlacementCommands
    names = [name for name in names if not name.startswith("--")]
    tests = unittest.defaultTestLoader.loadTestsFromNames(names, test_nova_manage)
    with contextlib.redirect_stderr(sys.stderr):
        tests.run(Result())


if __name__ == "__main__":
    main(sys.argv[1:])
