# SPDX-License-Identifier: Apache-2.0
"""Boots: successful, without a valid host, failed on their host, and rescheduled."""

from collections.abc import Generator

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.places import CELL_ZERO, HOSTS, Host


def boot(cloud: Cloud, server: Server, host: Host, fails: str = "") -> Operation:
    """ConductorManager.schedule_and_build_instances, ComputeManager._do_build_and_run_instance.

    `fails`: `scheduling`, `spawn` (without an alternate host), or the name of an alternate host.
    """
    cloud.builds.add(server.uuid)
    yield SHORT
    cloud.map(server, None)
    yield LONG
    if fails == "scheduling":
        yield from bury(cloud, server)
        return
    cloud.claim(server, host)
    yield SHORT
    cloud.create(server, host.cell, vm_state="building", task_state="scheduling")
    yield SHORT
    cloud.map(server, host.cell)
    yield SHORT
    cloud.builds.discard(server.uuid)
    yield LONG
    cloud.save(server, task_state=None)
    yield SHORT
    if fails and fails != "spawn":
        host = yield from _go_on(cloud, server, host, fails)
    cloud.save(server, host=host.name)
    yield SHORT
    cloud.save(server, task_state="spawning")
    yield LONG
    if fails == "spawn":
        yield from _give_up(cloud, server)
        return
    server.host = host
    cloud.guests.add((server.uuid, host.name))
    cloud.save(server, vm_state="active", task_state=None)


def bury(cloud: Cloud, server: Server) -> Operation:
    """ConductorManager._bury_in_cell0."""
    cloud.create(server, CELL_ZERO, vm_state="error")
    yield SHORT
    cloud.builds.discard(server.uuid)
    yield SHORT
    cloud.map(server, CELL_ZERO)


def _go_on(cloud: Cloud, server: Server, host: Host, other: str) -> Generator[str, None, Host]:
    """The build fails on its host and is rescheduled to an alternate host of the cell."""
    cloud.save(server, host=host.name)
    yield SHORT
    cloud.save(server, task_state="spawning")
    yield LONG
    cloud.save(server, host=None, task_state="scheduling")
    yield SHORT
    cloud.hold(server.uuid, {})
    yield LONG
    alternate = HOSTS[other]
    cloud.claim(server, alternate)
    yield LONG
    return alternate


def _give_up(cloud: Cloud, server: Server) -> Operation:
    """The row gets its error state first; the claim is deleted afterwards."""
    cloud.save(server, host=None, vm_state="error", task_state=None)
    cloud.ends(server, server.uuid, {})
    yield SHORT
    cloud.hold(server.uuid, {})
