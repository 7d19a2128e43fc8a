# SPDX-License-Identifier: Apache-2.0
"""Resizes between cells. The server has a row in each cell, and one of them is hidden."""

from tests.simulator.cloud import LONG, SHORT, Cloud, Operation, Server
from tests.simulator.operations.resizing import give_back, move_to_migration
from tests.simulator.places import Host
from tests.simulator.rows import FlavorRow


def resize_across(cloud: Cloud, server: Server, target: Host, flavor: FlavorRow) -> Operation:
    """CrossCellMigrationTask with its tasks, in their order."""
    source_cell = server.cell
    cloud.save(server, task_state="resize_prep")
    yield LONG
    cloud.migrate(server, "resize", "pre-migrating", None)
    yield SHORT
    move_to_migration(cloud, server)
    yield SHORT
    cloud.claim(server, target, flavor)
    yield SHORT
    cloud.progress(server, between_cells=True)
    yield LONG
    cloud.copy_to(server, target.cell)
    yield SHORT
    cloud.copy_migration_to(server, target.cell)
    yield LONG
    cloud.progress(server, target.cell, target=target.name)
    yield SHORT
    cloud.save(server, target.cell, new_flavor=flavor)
    yield SHORT
    cloud.progress(server, target=target.name)
    yield LONG
    yield from _switch_off(cloud, server)
    cloud.save(server, target.cell, task_state="resize_migrated")
    yield LONG
    yield from _start_on_target(cloud, server, target, flavor)
    yield from _swap(cloud, server, source_cell, target.cell)


def _switch_off(cloud: Cloud, server: Server) -> Operation:
    """PrepResizeAtSourceTask."""
    assert server.host is not None
    cloud.save(server, task_state="resize_migrating")
    yield LONG
    cloud.progress(server, status="migrating")
    yield LONG
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.progress(server, status="post-migrating")
    yield SHORT
    cloud.save(server, task_state="resize_migrated")
    yield LONG


def _start_on_target(cloud: Cloud, server: Server, target: Host, flavor: FlavorRow) -> Operation:
    """FinishResizeAtDestTask._finish_snapshot_based_resize_at_dest."""
    cloud.save(
        server, target.cell, host=target.name, flavor=flavor, old_flavor=server.flavor,
        task_state="resize_finish",
    )  # fmt: skip
    server.source, server.host, server.previous = server.host, target, server.flavor
    server.flavor = flavor
    yield LONG
    cloud.bind_ports(server, target)
    yield SHORT
    cloud.guests.add((server.uuid, target.name))
    cloud.progress(server, target.cell, status="finished")
    yield SHORT
    cloud.save(server, target.cell, vm_state="resized", task_state=None)
    yield SHORT


def _swap(cloud: Cloud, server: Server, hidden: str, shown: str) -> Operation:
    """FinishResizeAtDestTask._update_instance_mapping; RevertResizeTask has the same."""
    cloud.save(server, shown, hidden=False)
    yield SHORT
    cloud.map(server, shown)
    yield SHORT
    cloud.save(server, hidden, hidden=True)
    server.cell = shown
    yield SHORT


def confirm_across(cloud: Cloud, server: Server) -> Operation:
    """ConfirmResizeTask."""
    assert server.source is not None
    source_cell = server.source.cell
    cloud.progress(server, status="confirming")
    yield LONG
    cloud.progress(server, source_cell, status="confirmed")
    yield SHORT
    cloud.hold(server.migration, {})
    yield SHORT
    cloud.erase(server, source_cell)
    yield SHORT
    cloud.progress(server, status="confirmed")
    yield SHORT
    cloud.save(server, vm_state="active", task_state=None, old_flavor=None, new_flavor=None)
    server.previous = server.source = None


def revert_across(cloud: Cloud, server: Server) -> Operation:
    """RevertResizeTask."""
    assert server.source is not None
    assert server.previous is not None
    assert server.host is not None
    target_cell, source_cell = server.cell, server.source.cell
    cloud.save(server, task_state="resize_reverting")
    yield SHORT
    cloud.progress(server, status="reverting")
    yield LONG
    cloud.save(server, source_cell, task_state="resize_reverting")
    yield SHORT
    cloud.progress(server, source_cell, status="reverting")
    yield SHORT
    yield from _swap(cloud, server, target_cell, source_cell)
    cloud.guests.discard((server.uuid, server.host.name))
    cloud.progress(server, target_cell, status="reverted")
    yield LONG
    cloud.erase(server, target_cell)
    yield LONG
    cloud.save(server, host=server.source.name, flavor=server.previous)
    server.host, server.flavor = server.source, server.previous
    yield SHORT
    yield from give_back(cloud, server, lost=False)
    cloud.bind_ports(server, server.host)
    yield LONG
    cloud.guests.add((server.uuid, server.host.name))
    cloud.save(server, vm_state="active", task_state=None)
    server.previous = server.source = None
    yield SHORT
    cloud.progress(server, status="reverted")
