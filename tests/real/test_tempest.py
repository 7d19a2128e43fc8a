# SPDX-License-Identifier: Apache-2.0
"""Tempest's tests of Nova and Neutron, on upstream's Placement and on ours. `make tempest` runs it.

packaging/tempest-plugin audits the ledger after each class, and fails the run where it is wrong.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.real.cloud import tempest
from tests.real.cloud.catalog import TINY
from tests.real.cloud.damage import delete_by_sql
from tests.real.cloud.placement import KINDS
from tests.real.cloud.processes import wait_until

# How many have to pass: less would show that the cloud, or what is selected, has become another.
FEWEST = 400
ONE_CLASS = r"^tempest\.api\.compute\.servers\.test_create_server_multi_nic\.ServersTestMultiNic\."


@pytest.fixture(scope="module")
def cloud_for_tempest(cloud):
    tempest.prepare(cloud)
    return cloud


def test_a_class_after_which_the_ledger_is_wrong_fails(cloud_for_tempest, tenant, ledger, tmp_path):
    cloud = cloud_for_tempest
    workspace = tempest.workspace_for(cloud, tmp_path / "leak")
    server = tenant.boot(TINY, "compute1")
    servers = cloud.connection.compute.servers
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(workspace.run, ONE_CLASS)
        wait_until(lambda: len(list(servers(all_projects=True))) > 1, "a test has booted a server")
        delete_by_sql(cloud, server)
        became = run.result()
    failed = [name for name, status in became.items() if status == "failure"]
    assert len(failed) == 1
    assert failed[0].startswith("tearDownClass")
    assert f"orphaned-allocation: consumer {server.id}" in workspace.failures()
    ledger.forget(server.id)


def test_the_same_tests_pass_and_nova_leaks_nothing(cloud_for_tempest, tmp_path, record_property):
    became, said = {}, []
    for kind in KINDS:
        cloud_for_tempest.placement.swap_to(kind)
        workspace = tempest.workspace_for(cloud_for_tempest, tmp_path / kind)
        became[kind] = workspace.run()
        said.append(workspace.failures())
    upstream, ours = (became[kind] for kind in KINDS)
    differing = {one for one in upstream | ours if upstream.get(one) != ours.get(one)}
    assert differing == set(), said
    passed = [name for name, status in ours.items() if status == "success"]
    record_property("passed", len(passed))
    assert len(passed) > FEWEST
    assert [name for name, status in ours.items() if status == "failure"] == [], said
