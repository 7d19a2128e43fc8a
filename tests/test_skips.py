# SPDX-License-Identifier: Apache-2.0
"""A run that forbids skips fails on each kind of skip, and on nothing else.

The skips below skip nothing of ours: they are the text of small test files, one for each way that
pytest has to skip, which a second pytest is given in a folder of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = {
    "in the test": "import pytest\ndef test(): pytest.skip('no server')",
    "by a mark": "import pytest\n@pytest.mark.skip(reason='no server')\ndef test(): pass",
    "in a fixture": (
        "import pytest\n@pytest.fixture\ndef server(): pytest.skip('no server')\n"
        "def test(server): pass"
    ),
    "of the module": "import pytest\npytest.skip('no server', allow_module_level=True)",
}
# It runs, so it is not to be taken for a skip; pytest itself reports it as one.
EXPECTED_TO_FAIL = "import pytest\n@pytest.mark.xfail\ndef test(): assert False"


def run_pytest(folder: Path, source: str, forbidden: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.skips", f"--rootdir={folder}", str(folder)],
        env={
            **os.environ,
            "TRUEUP_FORBID_SKIPS": forbidden,
            "PYTHONPATH": os.getcwd(),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("way", SKIPPING)
def test_a_forbidden_skip_fails_and_says_why(way: str, tmp_path: Path) -> None:
    done = run_pytest(tmp_path, SKIPPING[way], forbidden="1")
    assert done.returncode != 0
    assert "TRUEUP_FORBID_SKIPS=1 forbids this" in done.stdout
    assert "no server" in done.stdout


def test_a_skip_passes_where_it_is_allowed(tmp_path: Path) -> None:
    assert run_pytest(tmp_path, SKIPPING["in the test"], forbidden="").returncode == 0


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    assert run_pytest(tmp_path, EXPECTED_TO_FAIL, forbidden="1").returncode == 0
