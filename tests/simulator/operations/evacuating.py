# SPDX-License-Identifier: Apache-2.0
"""Evacuations, and the cleaning up of a nova-compute that comes back."""

from dataclasses import replace

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.places import Host, both, without
from tests.simulator.rows import Amounts

RESIDUE = ("evacuation-residue",)
# The statuses of evacuations after which a starting nova-compute cleans up.
_TO_CLEAN_UP = ("accepted", "pre-migrating", "done")


def evacuate(cloud: Cloud, server: Server, target: Host, fails: str = "") -> Operation:
    """API.evacuate, ConductorManager.rebuild_instance, ComputeManager.rebuild_instance.

    `fails`: at `scheduling` or `claim`; `lost`: at the claim, and the target's claim stays;
    `started`: the same, after the target has started the guest.
    """
    assert server.host is not None
    before, left = cloud.acceptable_to(server.uuid), _left_on(cloud, server)
    cloud.save(server, task_state="rebuilding")
    yield SHORT
    cloud.migrate(server, "evacuation", "accepted", None)
    # Nova evacuates it from the host that it knows, wherever its guest is.
    cloud.progress(server, source=cloud.row(server).host)
    yield LONG
    if fails == "scheduling":
        cloud.progress(server, status="error")
        yield SHORT
        cloud.save(server, vm_state="error", task_state=None)
        return
    cloud.write(**{server.uuid: both(cloud.held(server.uuid), cloud.claim_of(server, target))})
    claim = cloud.claim_of(server, target)
    # After a failed resize two holdings are right.
    cloud.is_right(server.uuid, *(both(one, claim) for one in before))
    yield LONG
    cloud.progress(server, status="pre-migrating", target=target.name)
    yield LONG
    if fails:
        if fails == "started":
            cloud.guests.add((server.uuid, target.name))
            server.host = target
        yield from _fail(cloud, server, target, fails)
        return
    cloud.save(server, task_state="rebuild_spawning")
    yield LONG
    cloud.bind_ports(server, target)
    yield SHORT
    cloud.guests.add((server.uuid, target.name))
    cloud.save(server, vm_state="active", task_state=None)
    yield SHORT
    server.host = target
    cloud.save(server, host=target.name)
    yield SHORT
    cloud.progress(server, status="done")
    cloud.is_right(server.uuid, both(cloud.claim_of(server, target), left))
    cloud.leave(server.uuid, *(() if left else RESIDUE))


def _left_on(cloud: Cloud, server: Server) -> Amounts:
    """What it holds of a host that Nova does not have it on, where its guest runs on."""
    host = server.host
    if host is None or not cloud.is_misplaced(server):
        return {}
    return {uuid: row for uuid, row in cloud.held(server.uuid).items() if uuid in host.tree}


def _fail(cloud: Cloud, server: Server, target: Host, fails: str) -> Operation:
    rights = [without(one, target.tree) for one in cloud.acceptable_to(server.uuid)]
    if fails == "started":
        # The source may run it as well, unless it died.
        stays = any(guest == server.uuid and host != target.name for guest, host in cloud.guests)
        rights = [
            cloud.claim_of(server, target), cloud.held(server.uuid), *(rights if stays else ()),
        ]  # fmt: skip
    cloud.progress(server, status="failed")
    yield SHORT
    cloud.is_right(server.uuid, *rights)
    if fails == "lost":
        # Nova has it in ERROR: without hypervisors it is not certain that the target never began.
        cloud.leave(server.uuid)
    elif fails != "started":
        cloud.release_tree(server, target)
        yield SHORT
    cloud.save(server, vm_state="error", task_state=None)


def stop_service(cloud: Cloud, host: Host) -> None:
    """nova-compute dies; the guests go on running."""
    cloud.stopped.add(host.name)


def power_off(cloud: Cloud, host: Host) -> None:
    """The host dies with all its guests."""
    cloud.stopped.add(host.name)
    cloud.off.add(host.name)
    for uuid in [uuid for uuid, name in cloud.guests if name == host.name]:
        cloud.guests.discard((uuid, host.name))
        server = cloud.server_of(uuid)
        if server and server.settled and server.host not in (None, host):
            # A guest that ran beside the one that Nova knows.
            rights = (without(one, host.tree) for one in cloud.acceptable_to(uuid))
            cloud.is_right(uuid, *rights)
            cloud.leave(uuid)


def force_down(cloud: Cloud, host: Host, down: bool) -> None:
    """`openstack compute service set --down`, or `--up`; nova-compute does not notice."""
    services = cloud.cells[host.cell].services
    services[host.name] = replace(services[host.name], forced_down=down)


def start_service(cloud: Cloud, host: Host) -> None:
    """ComputeManager.init_host and _destroy_evacuated_instances: clean up, then report."""
    cell = cloud.cells[host.cell]
    if host.name not in cloud.stopped:
        return
    for move in list(cell.migrations.values()):
        left = move.kind == "evacuation" and move.source == host.name
        if not left or move.status not in _TO_CLEAN_UP or move.deleted or move.archived:
            continue
        server = next(one for one in cloud.servers.values() if one.uuid == move.server)
        cloud.guests.discard((server.uuid, host.name))
        if not server.gone and server.host != host:
            cloud.release_tree(server, host)
            cloud.drift.pop(server.uuid, None)
        cell.migrations[move.uuid] = replace(move, status="completed", updated_at=cloud.now)
    for uuid, name in list(cloud.guests):
        if name == host.name and _is_deleted(cloud, host, uuid):
            cloud.guests.discard((uuid, name))
    cloud.stopped.discard(host.name)
    cloud.off.discard(host.name)
    cloud.wait(0)


def _is_deleted(cloud: Cloud, host: Host, uuid: str) -> bool:
    row = cloud.cells[host.cell].servers.get(uuid)
    return row is None or bool(row.deleted)
