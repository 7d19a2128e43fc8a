# SPDX-License-Identifier: Apache-2.0
"""The public forge's workflow calls what the Makefile has. `make lint` checks its form."""

import re
from itertools import product

import yaml

from tests.tree import REPOSITORY
from tools.versions import TRIALS

JOBS = yaml.safe_load((REPOSITORY / ".github/workflows/ci.yml").read_text())["jobs"]
TARGETS = set(re.findall(r"^([a-z]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


def test_every_target_that_a_job_calls_is_there():
    commands = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    called = {word for line in commands for word in re.findall(r"^make ([a-z]+)", line)}
    of_servers = set(JOBS["servers"]["strategy"]["matrix"]["target"])
    assert {"lint", "quick", "packages", "versions", "real"} <= called
    assert called | of_servers <= TARGETS


def test_every_trial_of_versions_has_its_job():
    matrix = JOBS["versions"]["strategy"]["matrix"]
    crossed = product(matrix["versions"], matrix["python"])
    more = ((one["versions"], one["python"]) for one in matrix["include"])
    assert sorted(f"{versions}-{python}" for versions, python in (*crossed, *more)) == sorted(
        TRIALS
    )
