# SPDX-License-Identifier: Apache-2.0
"""Both distributions, installed as an operator installs them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
