# SPDX-License-Identifier: Apache-2.0
"""The functional tests that clients ship in their packages, against our service."""

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.clients.conftest import without_cloud
from tests.clients.keystone import PROJECT, USER, keystone_for
from tests.races.lives import build, candidates, send
from tests.servers.placement import REPOSITORY, placement_server
from tests.servers.upstream import create_tables

# Of osc-placement 4.9.1 and openstacksdk 4.22.0. Fewer would mean that some got lost on the way.
OSC_TESTS_MIN = 160
SDK_TESTS_MIN = 8
SDK_CLOUDS = ("devstack", "devstack-alt", "devstack-admin", "devstack-system-admin")
CLOUD = """\
  {name}:
    has_compute: false
    has_image: false
    region_name: {OS_REGION_NAME}
    auth:
      auth_url: {OS_AUTH_URL}
      username: {OS_USERNAME}
      password: {OS_PASSWORD}
      project_name: {OS_PROJECT_NAME}
      user_domain_id: {OS_USER_DOMAIN_ID}
      project_domain_id: {OS_PROJECT_DOMAIN_ID}
"""


@pytest.mark.timeout(900)
def test_those_of_osc_placement(tmp_path: Path) -> None:
    plugin = ("-p", "tests.clients.on_ours")
    said = run("osc_placement.tests.functional", tmp_path, {}, *plugin)
    assert passed(said) >= OSC_TESTS_MIN, said


def test_those_of_the_sdk(fresh_database: Callable[[str], str], tmp_path: Path) -> None:
    url = fresh_database("sqlite")
    create_tables(url)
    with placement_server("trueup", url) as ours, keystone_for(ours.url) as login:
        inhabit(ours.url)
        clouds = tmp_path / "clouds.yaml"
        lines = [CLOUD.format(name=name, **login) for name in SDK_CLOUDS]
        clouds.write_text("clouds:\n" + "".join(lines))
        named = {"OS_CLIENT_CONFIG_FILE": str(clouds)}
        said = run("openstack.tests.functional.placement", tmp_path, named)
    assert passed(said) >= SDK_TESTS_MIN, said


def inhabit(url: str) -> None:
    """A host and an instance of the project: the tests are written for a cloud that has both."""
    build(url)
    [place, *_] = candidates(url, "resources=VCPU:1")["allocation_requests"]
    owner = {"project_id": PROJECT["id"], "user_id": USER["id"], "consumer_type": "INSTANCE"}
    body = {"allocations": place["allocations"], "consumer_generation": None} | owner
    assert send(url, "PUT", f"/allocations/{uuid.uuid4()}", body).status_code == 204


def run(package: str, folder: Path, more: Mapping[str, str], *options: str) -> str:
    """What pytest says of the tests of an installed package."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PYTHONPATH": str(REPOSITORY), "HOME": str(folder), "PATH": programs}
    pytest = (sys.executable, "-m", "pytest", "-q", *options, "--pyargs", package)
    alone = ("-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider")
    done = subprocess.run(
        [*pytest, *alone], env=without_cloud() | own | more, cwd=folder, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def passed(said: str) -> int:
    """How many passed; 0 if there was any other outcome."""
    found = re.search(r"^(\d+) passed(, \d+ warnings?)? in ", said, re.MULTILINE)
    return int(found[1]) if found else 0
