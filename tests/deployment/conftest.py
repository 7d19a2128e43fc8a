# SPDX-License-Identifier: Apache-2.0
"""A site over a database, and both distributions installed as an operator installs them."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deployment.sites import PATIENT, Site, site_of
from tests.servers.placement import REPOSITORY

NOT_BUILT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "tests", "bench")


@pytest.fixture(scope="session")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which both distributions were installed; it comes before all others."""
    folder = tmp_path_factory.mktemp("names")
    # A build leaves files beside its sources.
    source = shutil.copytree(REPOSITORY / "packaging" / "placement-names", folder / "source")
    ours = shutil.copytree(REPOSITORY, folder / "trueup", ignore=NOT_BUILT)
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [sys.executable, *install, "--target", str(folder / "site"), str(ours), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture
def make_site(
    request: pytest.FixtureRequest, fresh_database: Callable[[str], str]
) -> Iterator[Callable[..., Site]]:
    """`make_site(kind, lock_wait_seconds)`."""
    with ExitStack() as stack:

        def make(kind: str, lock_wait_seconds: int = PATIENT) -> Site:
            server = request.getfixturevalue(f"{kind}_server")
            site = site_of(kind, server, fresh_database(kind), lock_wait_seconds)
            return stack.enter_context(site)

        yield make
