# SPDX-License-Identifier: Apache-2.0
"""Deletions: by nova-compute, by the API while the host is down, soft deletions, archiving."""

from dataclasses import replace

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.operations.resizing import confirm


def delete(cloud: Cloud, server: Server, lost: bool = False) -> Operation:
    """compute.api.API._delete, ComputeManager._delete_instance, API._local_delete.

    `lost`: Placement refuses to delete the claim. nova-compute then keeps the row.
    """
    resized = cloud.row(server).vm_state == "resized"
    cloud.save(server, task_state="deleting")
    yield LONG
    if resized:
        yield from confirm(cloud, server, deleting=True)
    if server.host and cloud.is_up(server.host):
        yield from _delete_on_host(cloud, server, lost)
    else:
        yield from _delete_locally(cloud, server)


def _delete_on_host(cloud: Cloud, server: Server, lost: bool) -> Operation:
    assert server.host is not None
    cloud.map(server, server.cell, queued_for_delete=True)
    yield LONG
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.save(server, vm_state="deleted", task_state=None)
    cloud.is_right(server.uuid, *cloud.acceptable_to(server.uuid), {})
    yield SHORT
    if lost:
        # Nova sets the server to ERROR, and its owner can delete it again.
        cloud.save(server, vm_state="error")
        return
    server.gone = True
    cloud.hold(server.uuid, {})
    yield SHORT
    destroy(cloud, server)


def _delete_locally(cloud: Cloud, server: Server) -> Operation:
    cloud.hold(server.uuid, {})
    server.gone = True
    yield SHORT
    if cloud.has_row(server):
        cloud.save(server, vm_state="deleted", task_state=None)
        yield SHORT
        cloud.map(server, server.cell, queued_for_delete=True)
        yield SHORT
        destroy(cloud, server)


def destroy(cloud: Cloud, server: Server) -> None:
    """`instance.destroy()`: the row is marked as deleted, and those of its migrations."""
    number = 1000 + len(cloud.servers)
    cloud.save(server, deleted=number, deleted_at=cloud.now)
    rows = cloud.cells[server.cell].migrations
    for uuid in [uuid for uuid, row in rows.items() if row.server == server.uuid]:
        rows[uuid] = replace(rows[uuid], deleted=number)
    for uuid in server.moves:
        if uuid in cloud.drift:
            cloud.drift[uuid] = frozenset({"orphaned-allocation"})


def soft_delete(cloud: Cloud, server: Server) -> Operation:
    """compute.api.API.soft_delete: the row gets `deleted_at` and is not deleted."""
    cloud.save(server, task_state="soft-deleting", deleted_at=cloud.now)
    yield SHORT
    cloud.map(server, server.cell, queued_for_delete=True)
    yield LONG
    cloud.save(server, vm_state="soft-delete", task_state=None)


def restore(cloud: Cloud, server: Server) -> Operation:
    """compute.api.API.restore."""
    cloud.save(server, task_state="restoring", deleted_at=None)
    yield SHORT
    cloud.map(server, server.cell)
    yield LONG
    cloud.save(server, vm_state="active", task_state=None)


def archive(cloud: Cloud) -> None:
    """`nova-manage db archive_deleted_rows`: deleted rows move to the shadow tables.

    With an instance go the rows that refer to it.
    """
    for cell in cloud.cells.values():
        deleted = {uuid: row for uuid, row in cell.servers.items() if row.deleted}
        for uuid, row in deleted.items():
            cell.servers[uuid] = replace(row, archived=True)
        for move, one in cell.migrations.items():
            if one.server in deleted:
                cell.migrations[move] = replace(one, archived=True)
