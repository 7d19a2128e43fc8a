# SPDX-License-Identifier: Apache-2.0
"""Drift made with real clients: found, planned, applied, undone, on either Placement.

After each repair Nova's own commands find nothing to change, and the hosts that were touched still
take and release an instance.
"""

import pytest

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.damage import (
    EGRESS,
    INGRESS,
    bandwidth_on,
    delete_by_sql,
    lose_the_ledger,
    port_with_bandwidth,
)
from tests.real.cloud.site import CELL_OF_COMPUTE
from tests.real.cloud.trueup import CLEAN, FINDINGS, nothing_is_left_to_repair

ALL_HOSTS = tuple(CELL_OF_COMPUTE)


@pytest.mark.short
def test_evacuation_from_a_dead_host(placement, cloud, trueup, tenant, repaired, settled):
    server = tenant.boot(SMALL, "compute1")
    cloud.kill_compute("compute1")
    tenant.evacuate(server, "compute2")
    residue = {"compute1": SMALL.resources, "compute2": SMALL.resources}
    repaired("evacuation-residue", server.id, residue, {"compute2": SMALL.resources})
    assert nothing_is_left_to_repair(cloud.site, trueup)
    cloud.revive_compute("compute1")
    settled("compute1", "compute2")


@pytest.mark.short
def test_an_unconfirmed_resize_is_no_drift(placement, trueup, tenant):
    server = tenant.boot(TINY, "compute1")
    tenant.resize(server, SMALL)
    answer = trueup.audit()
    assert (answer.exit_code, answer.rows) == (CLEAN, [])
    _, planned = trueup.plan()
    assert (planned.exit_code, planned.rows) == (CLEAN, [])
    tenant.confirm(server)


@pytest.mark.short
def test_an_instance_deleted_by_sql(placement, cloud, tenant, repaired, settled):
    server = tenant.boot(SMALL, "compute3")
    delete_by_sql(cloud, server)
    repaired("orphaned-allocation", server.id, {"compute3": SMALL.resources}, {})
    settled("compute3")


def test_an_allocation_is_lost(placement, tenant, ledger, repaired, settled):
    server = tenant.boot(SMALL, "compute2")
    ledger.forget(server.id)
    repaired("missing-allocation", server.id, {}, {"compute2": SMALL.resources})
    settled("compute2")


def test_an_allocation_on_the_wrong_host(placement, tenant, ledger, repaired, settled):
    server = tenant.boot(SMALL, "compute2")
    wrong = {"compute1": SMALL.resources}
    ledger.replace(server.id, wrong)
    repaired("wrong-provider", server.id, wrong, {"compute2": SMALL.resources})
    settled("compute1", "compute2")


@pytest.mark.short
def test_bandwidth_of_a_port_is_lost(placement, cloud, tenant, ledger, repaired, settled):
    bridge = bandwidth_on(cloud, "compute1")
    port = port_with_bandwidth(cloud)
    server = tenant.boot(TINY, "compute1", ports=[port.id])
    whole = {"compute1": TINY.resources, bridge: {EGRESS: 1000, INGRESS: 2000}}
    assert ledger.held_by(server.id) == whole
    ledger.forget(server.id)
    repaired("missing-allocation", server.id, {}, whole)
    settled("compute1")


def test_the_database_of_placement_is_lost(placement, cloud, trueup, tenant, ledger, settled):
    servers = [tenant.boot(SMALL, host) for host in ALL_HOSTS]
    before = {server.id: ledger.held_by(server.id) for server in servers}
    cloud.placement.stop()
    lose_the_ledger(cloud)
    cloud.placement.manage(placement, "db", "sync")
    cloud.placement.start(placement)
    cloud.restart_computes(*ALL_HOSTS)
    expected = sorted(("missing-allocation", server.id) for server in servers)
    assert trueup.audit().findings() == expected
    trueup.repair()
    assert {server.id: ledger.held_by(server.id) for server in servers} == before
    settled(*ALL_HOSTS)


def test_a_lost_database_is_rebuilt_from_nova(placement, cloud, trueup, tenant, ledger, settled):
    servers = [tenant.boot(SMALL, host) for host in ALL_HOSTS]
    before = {server.id: ledger.held_by(server.id) for server in servers}
    providers = {host: ledger.uuid_of(host) for host in ALL_HOSTS}
    cloud.placement.stop()
    lose_the_ledger(cloud)
    into = ("--into", cloud.site.database("placement"))
    assert trueup.rebuild("--lost", *into).exit_code == FINDINGS
    trueup.rebuild("--lost", *into, "--apply", "--yes")
    cloud.placement.start(placement)
    assert {server.id: ledger.held_by(server.id) for server in servers} == before
    assert {host: ledger.uuid_of(host) for host in ALL_HOSTS} == providers
    cloud.restart_computes(*ALL_HOSTS)
    trueup.rebuild(*into, "--check", "--wait", "60")
    settled(*ALL_HOSTS)
