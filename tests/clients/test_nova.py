# SPDX-License-Identifier: Apache-2.0
"""Nova's own functional tests, from its package, with our service as their Placement.

At the end of each the ledger is audited: what is found there Nova has left wrong itself.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nova
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
# Tests of moves, deletions and failures; some of them need more than our stand-in for Placement.
LEAKING = (
    "test_servers",
    "test_cross_cell_migrate",
    "test_cold_migrate",
    "test_server_group",
    "libvirt.test_live_migration",
)
REGRESSIONS = Path(nova.__file__).parent / "tests" / "functional" / "regressions"
AUDITED = 450
# What Nova leaves wrong, by the class of its test; docs/upstream.md says how. An evacuation does in
# any test.
EVACUATION = "evacuation-residue"
LEFT = {
    ("orphaned-allocation", "DeletedServerAllocationRevertTest"),
    ("orphaned-allocation", "ServersTestV280"),
    ("orphaned-allocation", "ConsumerGenerationConflictTest"),
    ("missing-allocation", "ServerRebuildTestCaseV293"),
    ("migration-residue", "PostLiveMigrationFail"),
    ("migration-residue", "ManagerCleanupHostCancelsQueuedMigration"),
    ("wrong-amount", "FinishResizeErrorAllocationCleanupTestCase"),
    ("wrong-amount", "ServerMovingTests"),
    ("wrong-amount", "ServerMovingTestsWithNestedComputes"),
    ("wrong-amount", "ServerMovingTestsWithNestedResourceRequests"),
    ("mapping-without-cell", "ServerDeleteBuildTests"),
}
LEFT_BY_GROUPS = {
    ("leaked-port-allocation", "PortResourceRequestBasedSchedulingTest"),
    ("leaked-port-allocation", "NonAdminPortResourceRequestTests"),
    ("leaked-port-allocation", "MultiGroupResourceRequestBasedSchedulingTest"),
    ("leaked-port-allocation", "NonAdminMultiGroupResReqTests"),
}
# These tests take a service's row away, as nothing in Nova does while the service runs, let a
# conductor of before Train move servers with pinned processors, or end while a nova-compute that
# refuses its configuration has begun to report a host that nobody has mapped.
BY_THE_TEST = {
    ("pinned-twice", "NUMALiveMigrationLegacyTests"),
    ("orphaned-provider", "ServerGroupTestV215"),
    ("orphaned-provider", "ServerGroupTestV264"),
    ("orphaned-provider", "ServerGroupTestV295"),
    ("host-mapping-missing", "InstanceListWithDeletedServicesTestCase"),
    ("host-mapping-missing", "PlacementPCIInventoryReportingTests"),
    ("owner-trait-missing", "PlacementPCIInventoryReportingTests"),
}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("group", GROUPS)
def test_a_group_passes_on_our_service(group: str, tmp_path: Path) -> None:
    modules, least = GROUPS[group]
    ended = run(*modules, folder=tmp_path)
    assert {row["test"]: row["why"] for row in ended if row["why"]} == {}
    assert len(ended) >= least
    assert left_wrong(ended) <= LEFT | LEFT_BY_GROUPS | BY_THE_TEST


@pytest.mark.timeout(7200)
def test_what_nova_leaves_wrong_is_known(tmp_path: Path) -> None:
    regressions = (f"regressions.{file.stem}" for file in sorted(REGRESSIONS.glob("test_*.py")))
    ended = run(*LEAKING, *regressions, folder=tmp_path)
    assert left_wrong(ended) - BY_THE_TEST == LEFT
    assert sum(row["found"] is not None for row in ended) >= AUDITED


def left_wrong(ended: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """The defects at the end of tests, each with the class of the test."""
    return {
        (one["defect"], row["test"].split(".")[-2])
        for row in ended
        for one in row["found"] or ()
        if one["defect"] != EVACUATION
    }


def run(*names: str, folder: Path) -> list[dict[str, Any]]:
    """The document of each test: why it failed, or an empty text, and what an audit found."""
    command = [sys.executable, "-m", "tests.clients.nova_on_ours", *names]
    own = {"PYTHONPATH": str(REPOSITORY), "HOME": str(folder)}
    done = subprocess.run(
        command, env=without_cloud() | own, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Nova logs to the same stream.
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"test"')]
