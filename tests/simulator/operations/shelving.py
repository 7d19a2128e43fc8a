# SPDX-License-Identifier: Apache-2.0
"""Shelving with offload, and unshelving."""

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.places import Host


def shelve(cloud: Cloud, server: Server, offload: bool = True) -> Operation:
    """ComputeManager.shelve_instance and shelve_offload_instance."""
    assert server.host is not None
    cloud.save(server, task_state="shelving")
    yield LONG
    if not offload:
        cloud.save(server, vm_state="shelved", task_state=None)
        return
    cloud.save(server, vm_state="shelved", task_state="shelving_offloading")
    yield LONG
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.hold(server.uuid, {})
    yield SHORT
    cloud.save(server, vm_state="shelved_offloaded", task_state=None)
    server.host = None
    cloud.ends(server, server.uuid, {})
    yield SHORT
    cloud.save(server, host=None)


def unshelve(cloud: Cloud, server: Server, host: Host, fails: str = "") -> Operation:
    """ConductorManager.unshelve_instance, ComputeManager._unshelve_instance.

    `fails`: at `spawn`; the claim is deleted and the server stays shelved.
    """
    cloud.save(server, task_state="unshelving")
    yield LONG
    cloud.claim(server, host)
    yield LONG
    cloud.save(server, task_state="spawning")
    yield LONG
    cloud.save(server, host=host.name)
    yield LONG
    if fails:
        cloud.hold(server.uuid, {})
        yield SHORT
        cloud.save(server, host=None, task_state=None)
        return
    server.host = host
    cloud.guests.add((server.uuid, host.name))
    cloud.save(server, vm_state="active", task_state=None)
