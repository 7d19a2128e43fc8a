# SPDX-License-Identifier: Apache-2.0
"""Every way to start Trueup refuses SQLAlchemy 1.4 with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trueup import libraries

SAID = (
    ": SQLAlchemy 1.4.54 is installed here, and Trueup needs 2.0 or later: "
    "install Trueup into an environment of its own.\n"
)
STARTS = {
    "from trueup.cli.start import main; raise SystemExit(main())": 2,
    "from trueup.placement.manage.start import manage; raise SystemExit(manage())": 1,
    "from trueup.placement.manage.start import status; raise SystemExit(status())": 255,
    "import trueup.wsgi": 1,
}


@pytest.fixture
def with_an_old_one(tmp_path: Path) -> dict[str, str]:
    """An environment in which the metadata of the old version is found first."""
    described = tmp_path / "SQLAlchemy-1.4.54.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: SQLAlchemy\nVersion: 1.4.54\n"
    )
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize("start", STARTS)
def test_no_program_starts_with_a_version_that_is_too_old(start, with_an_old_one):
    ran = subprocess.run(
        [sys.executable, "-c", start],
        env=with_an_old_one,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (STARTS[start], "")
    assert ran.stderr.endswith(SAID)
    assert len(ran.stderr.splitlines()) == 1


def test_what_the_tests_run_with_is_accepted():
    assert libraries.too_old() is None
