# SPDX-License-Identifier: Apache-2.0
"""Resizes and cold migrations within a cell: confirmed, reverted, failed."""

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.places import Host
from tests.simulator.rows import FlavorRow

RESIDUE = ("migration-residue",)


def resize(
    cloud: Cloud, server: Server, target: Host, flavor: FlavorRow, fails: str = "",
    lost: bool = False,
) -> Operation:  # fmt: skip
    """MigrationTask, ComputeManager.prep_resize, resize_instance, finish_resize.

    `fails`: at `scheduling`, `claim` (on the target), `source` or `finish`. `lost`: Placement
    refuses the request that gives the claims back.
    """
    kind = "migration" if flavor == server.flavor else "resize"
    cloud.save(server, task_state="resize_prep")
    yield LONG
    cloud.migrate(server, kind, "pre-migrating", None)
    yield SHORT
    move_to_migration(cloud, server)
    yield SHORT
    if fails == "scheduling":
        cloud.progress(server, status="error")
        yield SHORT
        yield from give_back(cloud, server, lost)
        cloud.save(server, task_state=None)
        return
    cloud.claim(server, target, flavor)
    yield LONG
    cloud.save(server, new_flavor=flavor)
    yield SHORT
    cloud.progress(server, target=target.name)
    yield LONG
    if fails == "claim":
        yield from give_back(cloud, server, lost)
        cloud.save(server, task_state=None)
        yield SHORT
        cloud.progress(server, status="error")
        return
    yield from _leave_source(cloud, server, target, fails == "source", lost)
    if server.host == target and fails != "source":
        yield from _arrive(cloud, server, flavor, fails == "finish", lost)


def _leave_source(cloud: Cloud, server: Server, target: Host, fails: bool, lost: bool) -> Operation:
    cloud.progress(server, status="migrating")
    yield SHORT
    cloud.save(server, task_state="resize_migrating")
    yield LONG
    if fails:
        yield from give_back(cloud, server, lost)
        cloud.save(server, vm_state="error", task_state=None)
        yield SHORT
        cloud.progress(server, status="error")
        yield SHORT
        return
    assert server.host is not None
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.progress(server, status="post-migrating")
    yield SHORT
    server.source, server.host, server.previous = server.host, target, server.flavor
    cloud.save(server, host=target.name, old_flavor=server.flavor, task_state="resize_migrated")
    yield LONG


def _arrive(cloud: Cloud, server: Server, flavor: FlavorRow, fails: bool, lost: bool) -> Operation:
    cloud.save(server, flavor=flavor, task_state="resize_finish")
    server.flavor = flavor
    yield SHORT
    assert server.host is not None
    # setup_networks_on_host comes before the driver's finish_migration, which may fail.
    cloud.bind_ports(server, server.host)
    yield LONG
    if fails:
        yield from _fail_on_target(cloud, server, lost)
        return
    cloud.guests.add((server.uuid, server.host.name))
    cloud.progress(server, status="finished")
    yield SHORT
    cloud.save(server, vm_state="resized", task_state=None)


def _fail_on_target(cloud: Cloud, server: Server, lost: bool) -> Operation:
    """The claim of the new flavor stays on the target; the row has the old flavor again."""
    assert server.host is not None
    assert server.previous is not None
    cloud.save(server, flavor=server.previous)
    server.flavor = server.previous
    cloud.is_right(
        server.uuid, cloud.acceptable_to(server.uuid)[0], cloud.claim_of(server, server.host)
    )
    yield SHORT
    yield from _drop_source(cloud, server, lost)
    cloud.save(server, vm_state="error", task_state=None)
    yield SHORT
    cloud.progress(server, status="error")


def _drop_source(cloud: Cloud, server: Server, lost: bool) -> Operation:
    """ComputeManager._delete_allocation_after_move."""
    if lost:
        cloud.is_right(server.migration, {})
        if cloud.held(server.migration):
            cloud.leave(server.migration, *RESIDUE)
    else:
        cloud.hold(server.migration, {})
        yield SHORT


def move_to_migration(cloud: Cloud, server: Server) -> None:
    """replace_allocation_with_migration: the migration takes over what the server holds."""
    cloud.hand_over(server.uuid, server.migration)
    cloud.is_right(server.migration, cloud.acceptable_to(server.uuid)[0])
    cloud.is_right(server.uuid, {})


def give_back(cloud: Cloud, server: Server, lost: bool) -> Operation:
    """_revert_allocation, revert_allocation_for_migration: one POST that replaces both."""
    cloud.is_right(server.uuid, cloud.acceptable_to(server.migration)[0])
    cloud.is_right(server.migration, {})
    if lost:
        cloud.leave(server.uuid, *RESIDUE)
        cloud.leave(server.migration, *RESIDUE)
    else:
        cloud.hand_over(server.migration, server.uuid)
        yield SHORT


def confirm(cloud: Cloud, server: Server, lost: bool = False, deleting: bool = False) -> Operation:
    """API.confirm_resize, ComputeManager.confirm_resize."""
    cloud.progress(server, status="confirming")
    yield LONG
    cloud.progress(server, status="confirmed")
    yield SHORT
    cloud.save(server, vm_state="active", task_state="deleting" if deleting else None)
    if not deleting:
        cloud.ends(server, server.migration, {}, *RESIDUE)
    yield SHORT
    yield from _drop_source(cloud, server, lost)
    if lost:
        cloud.save(server, vm_state="error")
        yield SHORT
        cloud.progress(server, status="error")
    else:
        cloud.save(server, old_flavor=None, new_flavor=None)
    server.previous = server.source = None


def revert(cloud: Cloud, server: Server, lost: bool = False, fails: str = "") -> Operation:
    """API.revert_resize, ComputeManager.revert_resize, finish_revert_resize.

    `fails`: after the target has deleted the guest, the source never hears of it (`cast`).
    """
    assert server.host is not None
    assert server.source is not None
    assert server.previous is not None
    cloud.save(server, task_state="resize_reverting")
    yield SHORT
    cloud.progress(server, status="reverting")
    yield LONG
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.progress(server, status="reverted")
    yield LONG
    if fails:
        # Either claim may be the one that its owner needs.
        cloud.is_right(server.uuid, *cloud.acceptable_to(server.uuid), {})
        cloud.is_right(server.migration, *cloud.acceptable_to(server.migration), {})
        cloud.save(server, vm_state="error", task_state=None)
        return
    cloud.save(server, host=server.source.name, flavor=server.previous)
    server.host, server.flavor = server.source, server.previous
    yield SHORT
    yield from give_back(cloud, server, lost)
    if lost:
        cloud.save(server, vm_state="error", task_state=None)
        yield SHORT
        cloud.progress(server, status="error")
    else:
        cloud.bind_ports(server, server.host)
        yield LONG
        cloud.guests.add((server.uuid, server.host.name))
        cloud.save(server, vm_state="active", task_state=None)
    server.previous = server.source = None
