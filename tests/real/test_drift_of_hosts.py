# SPDX-License-Identifier: Apache-2.0
"""Drift of hosts and of moves, made with real clients, on either Placement."""

import uuid
from dataclasses import replace

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.openstack import nova_manage
from tests.real.cloud.trueup import FINDINGS, INCOMPLETE

CHANGE_UUID = "UPDATE compute_nodes SET uuid = :new WHERE uuid = :old AND deleted = 0"


def test_a_uuid_was_changed_in_the_database_of_the_cell(
    placement, cloud, trueup, tenant, ledger, settled
):
    server = tenant.boot(SMALL, "compute2")
    provider, other = ledger.uuid_of("compute2"), str(uuid.uuid4())
    cloud.processes.kill("nova-compute-compute2")
    cell = cloud.cell_of("compute2")
    cloud.sql(cell, CHANGE_UUID, old=provider, new=other)
    patient = replace(trueup, while_busy=True)
    answer = patient.audit()
    assert answer.exit_code == INCOMPLETE
    assert answer.findings() == [("provider-identity-clash", "compute2")]
    [unchecked] = [row for row in answer.rows if row["Verdict"] != "finding"]
    assert unchecked["Subject"] == "compute2"
    assert "1 instance on it could not be checked" in unchecked["Evidence"]["reason"]
    _, planned = patient.plan()
    assert (planned.exit_code, planned.rows) == (INCOMPLETE, [])
    # What the finding's page says for a host that lost its identity.
    cloud.sql(cell, CHANGE_UUID, old=other, new=provider)
    cloud.start_computes("compute2")
    assert ledger.held_by(server.id) == {"compute2": SMALL.resources}
    settled("compute2")


def test_a_deleted_service_leaves_its_provider(placement, cloud, trueup, ledger, settled):
    compute = cloud.connection.compute
    foreign = str(uuid.uuid4())
    ledger.claim(foreign, "compute3", TINY.resources)
    provider = ledger.uuid_of("compute3")
    cloud.processes.kill("nova-compute-compute3")
    [service] = compute.services(host="compute3", binary="nova-compute")
    compute.delete_service(service)
    assert ledger.uuid_of("compute3") == provider
    answer = trueup.audit()
    assert (answer.exit_code, answer.findings()) == (FINDINGS, [("orphaned-provider", provider)])
    _, planned = trueup.plan()
    assert planned.rows == []
    assert foreign in planned.said
    ledger.forget(foreign)
    run = trueup.repair()
    assert not list(cloud.connection.placement.resource_providers(name="compute3"))
    trueup.undo(run)
    assert ledger.uuid_of("compute3") == provider
    trueup.repair()
    assert trueup.audit().rows == []
    cloud.start_computes("compute3")
    nova_manage(cloud.site, "cell_v2", "discover_hosts", "--by-service")
    settled("compute3")


def test_a_failed_confirmation_leaves_the_claim_of_its_migration(
    placement, cloud, tenant, ledger, repaired, settled
):
    server = tenant.resize(tenant.boot(TINY, "compute1"), SMALL)
    [migration] = cloud.connection.compute.migrations(instance_uuid=server.id)
    with cloud.placement.unreachable():
        cloud.connection.compute.confirm_server_resize(server)
        tenant.wait_for(server, "ERROR")
    cloud.connection.compute.reset_server_state(server, "active")
    assert ledger.held_by(migration.uuid) == {"compute1": TINY.resources}
    repaired(
        "migration-residue", server.id, {"compute2": SMALL.resources}, {"compute2": SMALL.resources}
    )
    assert ledger.held_by(migration.uuid) == {}
    settled("compute1", "compute2")
