# SPDX-License-Identifier: Apache-2.0
"""Services that are stopped, slow, or broken: nothing is released, and the words name them.

Collected last: the services of OpenStack log errors meanwhile.
"""

from dataclasses import replace

import pytest

from tests.real.cloud import outages
from tests.real.cloud.catalog import SMALL
from tests.real.cloud.damage import bandwidth_on, delete_by_sql, port_with_bandwidth
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import FRAGILE_CELL
from tests.real.cloud.trueup import CLEAN, FINDINGS, INCOMPLETE

KEYSTONE_SECONDS = 3


@pytest.fixture(autouse=True)
def in_a_chapter_of_its_own(cloud, logbook):
    cloud.placement.swap_to("trueup")
    logbook.begin("outages")


@pytest.fixture
def orphan(cloud, tenant):
    """An instance that was deleted by SQL: what it holds should be released."""
    server = tenant.boot(SMALL, "compute2")
    delete_by_sql(cloud, server)
    return server.id


@pytest.fixture
def forgotten(tenant, ledger):
    """An instance that runs and holds nothing."""
    server = tenant.boot(SMALL, "compute2")
    ledger.forget(server.id)
    return server.id


def nothing_is_released(trueup):
    """A plan is made, and takes nothing from anybody."""
    _, planned = trueup.plan()
    assert planned.exit_code == INCOMPLETE
    return planned.rows


def test_the_database_of_a_cell_is_stopped(cloud, trueup, orphan, forgotten):
    patient = replace(trueup, while_busy=True)
    with outages.stopped_database(cloud):
        answer = patient.audit()
        assert answer.exit_code == INCOMPLETE
        planned = nothing_is_released(patient)
    assert answer.findings() == [("missing-allocation", forgotten)]
    assert FRAGILE_CELL in answer.said
    assert [row["Subject"] for row in planned] == [forgotten]
    assert trueup.audit().findings() == [
        ("missing-allocation", forgotten),
        ("orphaned-allocation", orphan),
    ]
    trueup.repair()


def test_rabbitmq_is_stopped(cloud, trueup, tenant, orphan):
    """No host can report; nova-conductor still does, which shows that the cells are fresh."""
    tenant.boot(SMALL, "compute2")
    with outages.stopped_rabbitmq(cloud):
        wait_until(lambda: all_hosts_are_down(cloud), "Nova counts every host as down")
        answer = trueup.audit()
        plan, planned = trueup.plan()
        # Afterwards nova-compute may be the first to release it.
        trueup.apply(plan)
    assert (answer.exit_code, answer.findings()) == (FINDINGS, [("orphaned-allocation", orphan)])
    assert [row["Subject"] for row in planned.rows] == [orphan]
    assert trueup.audit().rows == []


def all_hosts_are_down(cloud):
    services = cloud.connection.compute.services(binary="nova-compute")
    return all(service.state == "down" for service in services)


def test_neutron_answers_500(cloud, trueup, tenant, orphan):
    bandwidth_on(cloud, "compute1")
    port = port_with_bandwidth(cloud)
    server = tenant.boot(SMALL, "compute1", ports=[port.id])
    patient = replace(trueup, while_busy=True)
    with outages.failing_neutron(cloud):
        answer = patient.audit()
        planned = nothing_is_released(patient)
    assert answer.exit_code == INCOMPLETE
    assert "Neutron" in answer.said
    assert "500" in answer.said
    assert server.id not in [row["Subject"] for row in planned]
    trueup.repair()


def test_keystone_is_slow(cloud, trueup, orphan):
    with outages.slow_keystone(cloud, KEYSTONE_SECONDS) as address:
        slow = trueup.through(address)
        assert slow.audit().findings() == [("orphaned-allocation", orphan)]
        slow.repair()
    answer = trueup.audit()
    assert (answer.exit_code, answer.rows) == (CLEAN, [])
