# SPDX-License-Identifier: Apache-2.0
"""Services that are stopped, slow, or broken: nothing is released, and the words name them.

Collected last: the services of OpenStack log errors meanwhile.
"""

from dataclasses import replace

import pytest

from tests.real.cloud import outages
from tests.real.cloud.catalog import SMALL
from tests.real.cloud.damage import delete_by_sql, port_with_bandwidth
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE, FRAGILE_CELL
from tests.real.cloud.trueup import CLEAN, INCOMPLETE

KEYSTONE_SECONDS = 3


@pytest.fixture(autouse=True)
def in_a_chapter_of_its_own(cloud, logbook):
    cloud.placement.swap_to("trueup")
    logbook.begin("outages")


@pytest.fixture
def orphan(cloud, tenant):
    """An instance that was deleted by SQL: what it holds should be released."""
    server = tenant.boot(SMALL, "compute1")
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


def test_rabbitmq_is_stopped(cloud, trueup, orphan):
    patient = replace(trueup, while_busy=True)
    with outages.stopped_rabbitmq(cloud):
        assert patient.audit().findings() == [("orphaned-allocation", orphan)]
        wait_until(lambda: patient.audit().exit_code == INCOMPLETE, "the cells count as silent")
        answer = patient.audit()
        planned = nothing_is_released(patient)
    assert [cell for cell in set(CELL_OF_COMPUTE.values()) if cell not in answer.said] == []
    assert planned == []
    assert trueup.audit().findings() == [("orphaned-allocation", orphan)]
    trueup.repair()


def test_neutron_answers_500(cloud, trueup, tenant, orphan):
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
