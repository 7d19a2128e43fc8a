# SPDX-License-Identifier: Apache-2.0
"""Incidents: SQL that changes Nova's rows as a real incident would, and leaves Placement alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Table, insert, update

from trueup.lab.nova import cell_tables as tables
from trueup.lab.nova.api_tables import INSTANCE_MAPPINGS
from trueup.lab.nova.databases import NovaDatabases, transaction
from trueup.lab.survey import ComputeNode, ConsistentInstance

_NO_POWER = 0
# Nova deletes these together with the instance.
_DELETED_WITH_AN_INSTANCE: tuple[Table, ...] = (
    tables.INSTANCE_EXTRA,
    tables.INSTANCE_INFO_CACHES,
    tables.INSTANCE_SYSTEM_METADATA,
    tables.BLOCK_DEVICE_MAPPING,
    tables.MIGRATIONS,
)


@dataclass(frozen=True, slots=True)
class Evacuation:
    """An instance that was rebuilt on `target` after its host died; `uuid` is its migration."""

    uuid: str
    instance: ConsistentInstance
    target: ComputeNode


@dataclass(frozen=True, slots=True)
class FailedMigration:
    """A live migration to `target` that failed; `uuid` is its migration, which holds the source."""

    uuid: str
    instance: ConsistentInstance
    target: ComputeNode


def delete_as_nova(
    databases: NovaDatabases, instance: ConsistentInstance, deleted_at: datetime
) -> None:
    """Delete as Nova does while the host is down: `deleted` of each row becomes the row's id."""
    gone = {"deleted_at": deleted_at, "updated_at": deleted_at}
    with transaction(instance.node.cell.url) as connection:
        connection.execute(
            update(tables.INSTANCES)
            .where(tables.INSTANCES.c.uuid == instance.uuid)
            .values(
                **gone,
                deleted=tables.INSTANCES.c.id,
                vm_state="deleted",
                power_state=_NO_POWER,
                terminated_at=deleted_at,
            )
        )
        for table in _DELETED_WITH_AN_INSTANCE:
            connection.execute(
                update(table)
                .where(table.c.instance_uuid == instance.uuid, table.c.deleted == 0)
                .values(**gone, deleted=table.c.id)
            )
    with transaction(databases.api_url) as connection:
        connection.execute(
            update(INSTANCE_MAPPINGS)
            .where(INSTANCE_MAPPINGS.c.instance_uuid == instance.uuid)
            .values(queued_for_delete=True)
        )


def delete_by_hand(instance: ConsistentInstance, deleted_at: datetime) -> None:
    """Delete as some operators do with SQL: `deleted = 1` in `instances`, and nothing else."""
    with transaction(instance.node.cell.url) as connection:
        connection.execute(
            update(tables.INSTANCES)
            .where(tables.INSTANCES.c.uuid == instance.uuid)
            .values(deleted=1, deleted_at=deleted_at, vm_state="deleted")
        )


def lose_host(source: ComputeNode, evacuations: Sequence[Evacuation], died_at: datetime) -> None:
    """A host dies and is forced down; an hour later these instances are evacuated from it."""
    moved_at = died_at + timedelta(hours=1)
    with transaction(source.cell.url) as connection:
        connection.execute(
            update(tables.SERVICES)
            .where(
                tables.SERVICES.c.host == source.host,
                tables.SERVICES.c.binary == "nova-compute",
                tables.SERVICES.c.deleted == 0,
            )
            .values(
                forced_down=True,
                last_seen_up=died_at,
                updated_at=died_at + timedelta(minutes=10),
            )
        )
        for evacuation in evacuations:
            connection.execute(
                update(tables.INSTANCES)
                .where(tables.INSTANCES.c.uuid == evacuation.instance.uuid)
                .values(
                    host=evacuation.target.host,
                    node=evacuation.target.node,
                    compute_id=evacuation.target.number,
                    launched_at=moved_at,
                    updated_at=moved_at,
                )
            )
        connection.execute(
            insert(tables.MIGRATIONS),
            [_evacuation_row(source, evacuation, moved_at) for evacuation in evacuations],
        )


def fail_migrations(failed: Sequence[FailedMigration], failed_at: datetime) -> None:
    """Live migrations fail, and Nova cannot give the instances their claims back."""
    for migration in failed:
        row = _migration(migration, migration.instance.node, failed_at)
        with transaction(migration.instance.node.cell.url) as connection:
            connection.execute(
                insert(tables.MIGRATIONS),
                [{**row, "status": "error", "migration_type": "live-migration"}],
            )


def _evacuation_row(
    source: ComputeNode, evacuation: Evacuation, moved_at: datetime
) -> dict[str, object]:
    """A migration `done`. When the source host returns and cleans up, it becomes `completed`."""
    row = _migration(evacuation, source, moved_at)
    return {**row, "status": "done", "migration_type": "evacuation"}


def _migration(
    move: Evacuation | FailedMigration, source: ComputeNode, ended_at: datetime
) -> dict[str, object]:
    """A row of `migrations`, without its kind and status."""
    return {
        "created_at": ended_at - timedelta(seconds=30),
        "updated_at": ended_at,
        "deleted": 0,
        "source_compute": source.host,
        "source_node": source.node,
        "dest_compute": move.target.host,
        "dest_node": move.target.node,
        "dest_compute_id": move.target.number,
        "instance_uuid": move.instance.uuid,
        "hidden": False,
        "cross_cell_move": False,
        "uuid": move.uuid,
        "user_id": move.instance.user_id,
        "project_id": move.instance.project_id,
    }
