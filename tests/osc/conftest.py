# SPDX-License-Identifier: Apache-2.0
"""The real `openstack` client, and a small cloud that its clouds.yaml names."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.running import Ran
from tests.clients.conftest import warm_programs as warm_programs  # a fixture
from trueup.lab.blueprint import LifecycleState
from trueup.lab.cloud import SmallCloud, small_cloud

OPENSTACK = Path(sys.executable).parent / "openstack"
Client = Callable[..., Ran]


def written_clouds_yaml(folder: Path, endpoints: Mapping[str, str]) -> dict[str, str]:
    """Write a clouds.yaml with the cloud `mine`; the environment that names it."""
    auth = {"endpoint": next(iter(endpoints.values())), "token": "admin"}
    mine = {"auth_type": "admin_token", "auth": auth}
    mine |= {f"{service}_endpoint": url for service, url in endpoints.items()}
    (folder / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": mine}}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return kept | {
        "OS_CLIENT_CONFIG_FILE": str(folder / "clouds.yaml"),
        "TRUEUP_STATE_DIR": str(folder / "state"),
        "PYTHONWARNINGS": "ignore",
    }


def run_client(environment: Mapping[str, str], *words: object, program: Path = OPENSTACK) -> Ran:
    """Run one command line of the client, as its user would."""
    ran = subprocess.run(
        [program, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCloud]:
    """A small cloud in which one instance holds nothing."""
    with small_cloud(tmp_path_factory.mktemp("osc") / "cloud", hosts=6, instances=24) as made:
        path = f"/allocations/{lost(made)}"
        held = made.placement.get(path)
        body = {name: held[name] for name in ("project_id", "user_id", "consumer_generation")}
        made.placement.put(path, {**body, "allocations": {}})
        yield made


def lost(cloud: SmallCloud) -> str:
    """The instance that holds nothing."""
    every = cloud.blueprint.instances
    return next(instance.uuid for instance in every if instance.state is LifecycleState.ACTIVE)


@pytest.fixture(scope="module")
def openstack(cloud: SmallCloud, warm_programs: Path) -> Client:
    """`openstack("trueup", "audit")` runs the client against the cloud."""
    environment = written_clouds_yaml(cloud.folder, {"placement": cloud.placement_url})
    program = warm_programs / "openstack"
    return lambda *words: run_client(environment, *words, program=program)
