# SPDX-License-Identifier: Apache-2.0
"""Real Ironic behind two nova-computes: no state of a healthy node is a finding, each defect is."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.real.cloud.ironic import CLASS, NODES, BareMetal, ironic_in
from tests.real.cloud.processes import wait_until
from tests.real.cloud.trueup import CLEAN, FINDINGS, INCOMPLETE

GONE, STAYS = "ironic2", "ironic1"
HELD = {CLASS: 1}


@pytest.fixture(scope="module")
def metal(placement, cloud) -> Iterator[BareMetal]:
    with ironic_in(cloud) as running:
        yield running


@pytest.fixture
def healthy(trueup):
    """Call it in each state of a node that is no drift."""

    def check():
        answer = trueup.audit()
        assert (answer.exit_code, answer.rows) == (CLEAN, [])

    return check


def test_nodes_are_booted_cleaned_renamed_and_maintained(metal, tenant, ledger, healthy):
    healthy()
    server = metal.boot()
    [node] = ledger.held_by(server.id)
    assert ledger.held_by(server.id) == {node: HELD}
    wait_until(lambda: metal.reserved() == {node}, "the node is reserved")
    healthy()
    metal.connection.baremetal.update_node(node, name="another-name")
    metal.connection.baremetal.set_node_maintenance(node, "a broken fan")
    healthy()
    metal.connection.baremetal.unset_node_maintenance(node)
    tenant.delete(server)
    healthy()
    wait_until(lambda: metal.reserved() == set(), "it is cleaned, and free")
    healthy()


def test_a_nova_compute_is_gone_for_good(metal, cloud, trueup, tenant, ledger, healthy):
    stays, deleted = metal.boot_on(GONE), metal.boot_on(GONE)
    [moved], [left] = ledger.held_by(stays.id), ledger.held_by(deleted.id)
    cloud.kill_compute(GONE)
    healthy()
    wait_until(
        lambda: (
            sorted(u for u, host in metal.hosts().items() if host == GONE) == sorted([moved, left])
        ),
        "the other nova-compute has taken over the free nodes",
        180,
    )
    healthy()
    assert trueup.retire(GONE).exit_code == FINDINGS
    # Ironic keeps an instance that Nova deletes now, and no other nova-compute takes its node.
    tenant.delete(deleted)
    healthy()
    answer = trueup.audit("--grace", "0")
    assert answer.findings() == [("ironic-reserved-left", left)]
    metal.move(moved, STAYS)
    metal.move(left, STAYS)
    healthy()
    assert ledger.held_by(stays.id) == {moved: HELD}
    retired = trueup.retire(GONE, "--apply", "--yes")
    assert (retired.exit_code, retired.rows["left"]) == (CLEAN, [])
    assert set(metal.hosts().values()) == {STAYS}
    healthy()
    metal.connection.baremetal.set_node_provision_state(left, "deleted", wait=True)
    wait_until(lambda: metal.reserved() == {moved}, "what was left is free again")
    metal.start_computes(GONE)
    healthy()


def test_the_claim_of_a_node_is_lost(metal, trueup, ledger, healthy):
    server = metal.boot_on(STAYS)
    [node] = ledger.held_by(server.id)
    wait_until(lambda: node in metal.reserved(), "the node is reserved")
    ledger.forget(server.id)
    assert trueup.audit().findings() == [("missing-allocation", server.id)]
    _, planned = trueup.plan()
    assert planned.rows == []
    assert "nova-compute of ironic1" in planned.said
    with metal.unreserved(node, STAYS):
        trueup.repair(rehearse=True)
    assert ledger.held_by(server.id) == {node: HELD}
    healthy()


def test_the_provider_of_a_free_node_is_lost(metal, cloud, trueup, healthy):
    node = min(metal.hosts())
    host = metal.hosts()[node]
    cloud.connection.placement.delete_resource_provider(node)
    # The host of a node without a provider is not checked.
    answer = replace(trueup, while_busy=True).audit()
    assert answer.exit_code == INCOMPLETE
    assert answer.findings() == [("ironic-node-without-provider", node)]
    # As the finding says.
    metal.restart_compute(host)
    healthy()


def test_a_node_is_lost(metal, cloud, healthy):
    node = min(metal.hosts())
    metal.connection.baremetal.set_node_maintenance(node, "it burned down")
    metal.connection.baremetal.delete_node(node)
    wait_until(lambda: len(metal.hosts()) == NODES - 1, "Nova knows it no more")
    healthy()
    metal.enrol(1)
    wait_until(lambda: len(metal.hosts()) == NODES and metal.is_settled(), "another is served")
    healthy()
