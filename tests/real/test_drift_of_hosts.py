# SPDX-License-Identifier: Apache-2.0
"""Drift of hosts and of moves, made with real clients, on either Placement."""

import uuid
from dataclasses import replace

import pytest

from tests.real.cloud.catalog import SMALL, TINY
from tests.real.cloud.damage import abandoned, changed_uuid, delete_service, reinstalled
from tests.real.cloud.trueup import CLEAN, FINDINGS, INCOMPLETE


@pytest.mark.short
def test_a_uuid_was_changed_in_the_database_of_the_cell(
    placement, cloud, trueup, tenant, ledger, settled
):
    server = tenant.boot(SMALL, "compute2")
    patient = replace(trueup, while_busy=True)
    # What the finding's page says for a host that lost its identity is done at the end.
    with changed_uuid(cloud, "compute2"):
        answer = patient.audit()
        _, planned = patient.plan()
    assert answer.exit_code == INCOMPLETE
    assert answer.findings() == [("provider-identity-clash", "compute2")]
    [unchecked] = [row for row in answer.rows if row["Verdict"] != "finding"]
    assert unchecked["Subject"] == "compute2"
    assert "1 instance on it could not be checked" in unchecked["Evidence"]["reason"]
    assert (planned.exit_code, planned.rows) == (INCOMPLETE, [])
    assert ledger.held_by(server.id) == {"compute2": SMALL.resources}
    settled("compute2")


def test_a_host_got_another_uuid(placement, cloud, trueup, tenant, ledger, settled):
    """The file compute_id and Nova's database have it, its provider has the old one."""
    server = tenant.boot(SMALL, "compute2")
    old = ledger.uuid_of("compute2")
    new = reinstalled(cloud, "compute2")
    plan = cloud.site.state("rekey.json")
    planned = trueup.rekey("compute2", "--compute-id", new, "--out", str(plan))
    trueup.rehearse(plan)
    run = trueup.apply(plan)
    assert ledger.uuid_of("compute2") == new
    assert ledger.held_by(server.id) == {"compute2": SMALL.resources}
    undone = trueup.undo(run)
    assert ledger.uuid_of("compute2") == old
    assert ledger.held_by(server.id) == {"compute2": SMALL.resources}
    trueup.undo(undone)
    cloud.revive_compute("compute2")
    assert ledger.uuid_of("compute2") == new
    assert planned.exit_code == FINDINGS
    settled("compute2")


@pytest.mark.short
def test_a_deleted_service_leaves_its_provider(placement, cloud, trueup, ledger, settled):
    provider, foreign = ledger.uuid_of("compute3"), str(uuid.uuid4())
    ledger.claim(foreign, "compute3", TINY.resources)
    with abandoned(cloud, "compute3"):
        delete_service(cloud, "compute3")
        assert ledger.uuid_of("compute3") == provider
        answer = trueup.audit()
        _, planned = trueup.plan()
        ledger.forget(foreign)
        run = trueup.repair(rehearse=True)
        assert "compute3" not in ledger.names()
        undone = trueup.undo(run)
        assert ledger.uuid_of("compute3") == provider
        trueup.undo(undone)
        assert trueup.audit().rows == []
    assert (answer.exit_code, answer.findings()) == (FINDINGS, [("orphaned-provider", provider)])
    assert planned.rows == []
    assert foreign in planned.said
    settled("compute3")


def test_a_host_is_retired(placement, cloud, trueup, ledger, settled):
    foreign = str(uuid.uuid4())
    ledger.claim(foreign, "compute3", TINY.resources)
    with abandoned(cloud, "compute3"):
        blocked = trueup.retire("compute3")
        ledger.forget(foreign)
        retired = trueup.retire("compute3", "--apply", "--yes")
        assert "compute3" not in ledger.names()
        assert not list(cloud.connection.compute.services(host="compute3"))
        again = trueup.retire("compute3")
    assert blocked.exit_code == FINDINGS
    blocking = [row["subject"] for row in blocked.rows["checks"] if row["verdict"] == "blocks"]
    assert blocking == [foreign]
    assert (retired.exit_code, retired.rows["left"]) == (CLEAN, [])
    assert again.exit_code == CLEAN
    settled("compute3")


@pytest.mark.short
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
