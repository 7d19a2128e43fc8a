# SPDX-License-Identifier: Apache-2.0
"""Neutron with a mechanism driver of our own."""

import shutil
from pathlib import Path

from tests.real.cloud import __path__ as here
from tests.real.cloud.site import Site
from tests.real.cloud.web import uwsgi_command

DRIVER = "agentless"


def neutron_command(site: Site) -> list[str]:
    return uwsgi_command(
        site.ports["neutron"], "neutron.wsgi.api", "--pythonpath", str(_with_driver(site))
    )


def neutron_environment(site: Site) -> dict[str, str]:
    return {
        "OS_NEUTRON_CONFIG_DIR": str(site.configuration("neutron")),
        "OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini",
    }


def _with_driver(site: Site) -> Path:
    """A folder that looks to Python like an installed package with the driver."""
    folder = site.state("neutron", "packages")
    described = folder / f"{DRIVER}-1.dist-info"
    described.mkdir(parents=True, exist_ok=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DRIVER}\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        f"[neutron.ml2.mechanism_drivers]\n{DRIVER} = {DRIVER}:AgentlessDriver\n"
    )
    shutil.copy(Path(here[0], f"{DRIVER}.py"), folder)
    return folder
