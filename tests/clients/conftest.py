# SPDX-License-Identifier: Apache-2.0
"""The environment of an operator who has the clients installed."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients import warm
from tests.clouds.cloud import TOKEN, RecordedCloud
from tests.servers.placement import REPOSITORY, placement_server
from tests.servers.processes import private_folder
from tests.servers.upstream import create_tables


@pytest.fixture(scope="session")
def warm_programs() -> Iterator[Path]:
    """The folder of an `openstack` that answers at once."""
    with private_folder("clients", None) as folder:
        path = folder / "socket"
        warm.write_caller(folder, path)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.clients.warm", str(path)],
            cwd=REPOSITORY,
            env=without_cloud(),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield folder
            process.terminate()


@pytest.fixture
def operator(warm_programs: Path, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """`operator(url)` is the environment of an operator who uses the Placement service there."""

    def environment(url: str) -> dict[str, str]:
        return {
            **without_cloud(),
            "PATH": f"{warm_programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "OS_AUTH_TYPE": "admin_token",
            "OS_ENDPOINT": url,
            "OS_TOKEN": TOKEN,
        }

    return environment


def without_cloud() -> dict[str, str]:
    """The environment of the tests, without the cloud that it may name."""
    return {name: value for name, value in os.environ.items() if not name.startswith("OS_")}


@pytest.fixture
def placement_of(
    recorded_cloud: Callable[..., RecordedCloud], fresh_database: Callable[[str], str]
) -> Iterator[Callable[[str, str], str]]:
    """`placement_of(cloud, implementation)` is where the Placement of a recorded cloud answers.

    The cloud named `empty` has no providers.
    """
    with contextlib.ExitStack() as stopped_at_the_end:

        def url(cloud: str, implementation: str) -> str:
            if cloud != "empty":
                return recorded_cloud(cloud, placement=implementation).placement_url
            database_url = fresh_database("sqlite")
            create_tables(database_url)
            server = placement_server(implementation, database_url)
            return stopped_at_the_end.enter_context(server).url

        yield url
