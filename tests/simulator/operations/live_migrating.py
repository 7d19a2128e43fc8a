# SPDX-License-Identifier: Apache-2.0
"""Live migrations: completed, failed early, rolled back, cancelled."""

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.operations.resizing import RESIDUE, give_back, move_to_migration
from tests.simulator.places import Host

# Failures after which the guest is on the target, whatever Nova says.
PAST_RETURN = ("last-steps", "newer-last-steps", "unwritten")


def live_migrate(
    cloud: Cloud, server: Server, target: Host, fails: str = "", lost: bool = False
) -> Operation:
    """LiveMigrationTask, ComputeManager._do_live_migration and what follows it.

    `fails`: at `scheduling`, or later with the status `failed`, `error` or `cancelled`; or past the
    point of no return, in the `last-steps` of an older Nova, or in the `newer-last-steps`, which
    write the target; or the target's name is `unwritten`, and the state was reset since. `lost`:
    Placement refuses the last request, which gives the claims back or deletes the source's.
    """
    cloud.save(server, task_state="migrating")
    yield SHORT
    cloud.migrate(server, "live-migration", "accepted", None)
    yield SHORT
    move_to_migration(cloud, server)
    yield SHORT
    if fails == "scheduling":
        yield from give_back(cloud, server, lost)
        cloud.save(server, task_state=None)
        yield SHORT
        cloud.progress(server, status="error")
        return
    cloud.claim(server, target)
    yield SHORT
    cloud.progress(server, target=target.name)
    yield LONG
    for status in ("queued", "preparing", "running"):
        cloud.progress(server, status=status)
        yield LONG
    if fails in PAST_RETURN:
        yield from _strand(cloud, server, target, fails)
    elif fails:
        yield from _roll_back(cloud, server, fails, lost)
    else:
        yield from _complete(cloud, server, target, lost)


def _complete(cloud: Cloud, server: Server, target: Host, lost: bool) -> Operation:
    assert server.host is not None
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.guests.add((server.uuid, target.name))
    cloud.bind_ports(server, target)
    yield SHORT
    server.host = target
    cloud.save(server, host=target.name, task_state=None)
    yield LONG
    cloud.progress(server, status="completed")
    cloud.ends(server, server.migration, {}, *RESIDUE)
    yield SHORT
    if lost:
        cloud.is_right(server.migration, {})
        if cloud.held(server.migration):
            cloud.leave(server.migration, *RESIDUE)
    else:
        cloud.hold(server.migration, {})


def _roll_back(cloud: Cloud, server: Server, status: str, lost: bool) -> Operation:
    yield from give_back(cloud, server, lost)
    if lost and status == "error":
        # As after the last steps failed: without hypervisors it is not certain that it stayed.
        cloud.unname(server.uuid, server.migration)
    cloud.save(server, task_state=None)
    yield SHORT
    cloud.progress(server, status=status)


def _strand(cloud: Cloud, server: Server, target: Host, fails: str) -> Operation:
    """ComputeManager._post_live_migration and its callers, when one of the last steps fails.

    Launchpad 1628606 and 2000069: the guest runs on the target. Until 2023.1 nobody writes that.
    """
    assert server.host is not None
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.guests.add((server.uuid, target.name))
    server.host = target
    if fails != "last-steps":
        cloud.bind_ports(server, target)
    yield SHORT
    if fails == "unwritten":
        cloud.save(server, task_state=None)
        yield SHORT
        cloud.progress(server, status="completed")
        yield SHORT
        cloud.hold(server.migration, {})
        return
    written = {"host": target.name} if fails == "newer-last-steps" else {}
    cloud.progress(server, status="error")
    yield SHORT
    cloud.is_right(server.migration, {})
    cloud.leave(server.migration, *(RESIDUE if written else ()))
    cloud.save(server, vm_state="error", task_state=None, **written)


def retry(cloud: Cloud, server: Server, target: Host, kind: str) -> Operation:
    """A move that fails at once, before it has asked Placement for anything."""
    cloud.save(server, task_state="migrating")
    yield SHORT
    cloud.migrate(server, kind, "accepted", target)
    cloud.progress(server, source=cloud.row(server).host)
    yield SHORT
    cloud.save(server, task_state=None)
    yield SHORT
    cloud.progress(server, status="error")
