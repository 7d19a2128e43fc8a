# SPDX-License-Identifier: Apache-2.0
"""The environment of each release of upstream's Placement, made from its package."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.servers.placement import REPOSITORY
from tests.servers.skipping import skip_without

# The newest point release of each series since Stein: its Python, the newest microversion of its
# API, and which older packages it needs.
_OLD = ("sqlalchemy<1.4", "oslo.db<9")
_TWO = ("sqlalchemy<2", "oslo.db<15")
RELEASES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "1.1.0": ("3.8", "1.31", _OLD),
    "2.0.1": ("3.8", "1.36", _OLD),
    "3.0.1": ("3.8", "1.36", _OLD),
    "4.0.0": ("3.8", "1.36", _OLD),
    "5.0.1": ("3.8", "1.36", _OLD),
    "6.0.0": ("3.8", "1.38", _TWO),
    "7.0.0": ("3.8", "1.39", _TWO),
    "8.0.0": ("3.8", "1.39", _TWO),
    "9.0.0": ("3.9", "1.39", _TWO),
    "10.0.1": ("3.9", "1.39", _TWO),
    "11.0.1": ("3.9", "1.39", _TWO),
    "12.0.2": ("3.9", "1.39", _TWO),
    "13.0.1": ("3.10", "1.39", ()),
    "14.0.0": ("3.10", "1.39", ()),
    # Newer ones have no option that it sets.
    "15.0.0": ("3.11", "1.39", ("oslo.policy<5",)),
    "16.0.0": ("3.11", "1.39", ()),
}
DRIVERS = {"mariadb": "pymysql", "postgresql": "psycopg2-binary"}
UV = REPOSITORY / ".venv" / "bin" / "uv"
SERVICE = REPOSITORY / "tests" / "releases" / "older_service.py"


def environment_of(version: str) -> Path:
    """The environment of a release; it is kept."""
    python, _, more = RELEASES[version]
    chosen = REPOSITORY / ".venv" / "releases" / version
    if (chosen / "made").is_file():
        return chosen
    shutil.rmtree(chosen, ignore_errors=True)
    ran = subprocess.run(
        [UV, "venv", "--quiet", "--no-python-downloads", "--python", python, chosen],
        capture_output=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        skip_without(f"Python {python} is not there")
    packages = (f"openstack-placement=={version}", *DRIVERS.values(), "setuptools<81", *more)
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--system-certs", "--python", chosen / "bin" / "python",
         *packages],
        check=True,
    )  # fmt: skip
    (chosen / "made").touch()
    return chosen
