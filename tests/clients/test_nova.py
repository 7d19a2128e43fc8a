# SPDX-License-Identifier: Apache-2.0
"""Nova's own functional tests, from its package, with our service as their Placement."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import without_cloud
from tests.servers.placement import REPOSITORY

# Modules of each group, and how many tests of Nova 34.0.0 ran: in 387, 304, 697 and 714 seconds.
GROUPS = {
    "vgpu": (("libvirt.test_vgpu", "libvirt.test_reshape"), 21),
    "numa": (("libvirt.test_numa_servers", "libvirt.test_numa_live_migration"), 68),
    "pci": (("libvirt.test_pci_in_placement", "libvirt.test_pci_sriov_servers"), 152),
    "qos": (("test_servers_resource_request",), 162),
}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("group", GROUPS)
def test_a_group_passes_on_our_service(group: str, tmp_path: Path) -> None:
    modules, least = GROUPS[group]
    reasons = run(*modules, folder=tmp_path)
    assert {test: why for test, why in reasons.items() if why} == {}
    assert len(reasons) >= least


def run(*names: str, folder: Path) -> dict[str, str]:
    """Why each test failed; empty for one that passed."""
    command = [sys.executable, "-m", "tests.clients.nova_on_ours", *names]
    own = {"PYTHONPATH": str(REPOSITORY), "HOME": str(folder)}
    done = subprocess.run(
        command, env=without_cloud() | own, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Nova logs to the same stream.
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"test"')]
    return {one["test"]: one["why"] for one in told}
