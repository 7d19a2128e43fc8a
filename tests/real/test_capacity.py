# SPDX-License-Identifier: Apache-2.0
"""As many servers boot as `trueup capacity` says, and the next one gets "No valid host"."""

import uuid
from collections.abc import Iterator

import pytest

from tests.real.cloud.catalog import SMALL, FlavorSize
from tests.real.cloud.damage import delete_by_sql
from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import CELL_OF_COMPUTE
from tests.real.cloud.tenant import Ledger, Tenant

ON_A_HOST = 2
ROOM_MB = ON_A_HOST * SMALL.ram + 40


@pytest.fixture
def nearly_full(placement, ledger) -> Iterator[None]:
    """Every host has memory for two small servers, and whatever else."""
    fillers = [one for host in CELL_OF_COMPUTE for one in filled(ledger, host)]
    yield
    for filler in fillers:
        ledger.forget(filler)


def filled(ledger: Ledger, host: str) -> Iterator[str]:
    """The consumers that now hold all but a little of the memory of a host that is empty."""
    memory = ledger.inventories(host)["MEMORY_MB"]
    capacity = int((memory["total"] - memory["reserved"]) * memory["allocation_ratio"])
    left = capacity - ROOM_MB
    while left:
        amount = min(left, memory["max_unit"])
        filler = str(uuid.uuid4())
        ledger.claim(filler, host, {"MEMORY_MB": amount})
        yield filler
        left -= amount


def boots(tenant: Tenant, ledger: Ledger, flavor: FlavorSize) -> int:
    """How many servers boot until one gets "No valid host"; all of them are deleted."""
    servers = []
    while True:
        server = tenant.wait_for(tenant.ask_for(flavor), "ACTIVE", "ERROR")
        servers.append(server)
        if server.status == "ERROR":
            break
    assert "No valid host" in server.fault["message"]
    tenant.delete(*servers)
    for one in servers:
        wait_until(lambda one=one: ledger.held_by(one.id) == {}, "nothing is held")
    return len(servers) - 1


def test_as_many_boot_as_it_says_before_and_after_a_repair(
    placement, cloud, trueup, tenant, ledger, request
):
    dead = tenant.boot(SMALL, "compute3")
    delete_by_sql(cloud, dead)
    phantom = ledger.held_by(dead.id)
    assert phantom == {"compute3": SMALL.resources}
    request.getfixturevalue("nearly_full")
    # The fillers leave room for two, of which what is phantom takes one on compute3.
    before = trueup.capacity("--flavor", SMALL.name)
    room = ON_A_HOST * len(CELL_OF_COMPUTE)
    assert (before["now"]["fits"], before["after_repair"]["fits"]) == (room - 1, room)
    assert boots(tenant, ledger, SMALL) == room - 1
    trueup.repair()
    after = trueup.capacity("--flavor", SMALL.name)
    assert after["now"]["fits"] == room
    assert boots(tenant, ledger, SMALL) == room
    without = trueup.capacity("--flavor", SMALL.name, "--without", "compute1")
    assert without["now"]["fits"] == room - ON_A_HOST
