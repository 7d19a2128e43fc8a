# SPDX-License-Identifier: Apache-2.0
"""The rows of Nova's API database for a blueprint."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from trueup.lab.blueprint import Blueprint, Cell, LifecycleState
from trueup.lab.flavors import FLAVORS, Flavor
from trueup.lab.nova import api_tables as tables
from trueup.lab.nova import objects
from trueup.lab.nova.databases import Rows

_DEAD = frozenset({LifecycleState.DELETED, LifecycleState.ARCHIVED})
_CLOUD_AGE = timedelta(days=400)


def api_rows(blueprint: Blueprint, cell_url: Callable[[str], str]) -> Rows:
    """Every row; `cell_url` gives the database URL of a cell by its name."""
    made = {"created_at": blueprint.now - _CLOUD_AGE, "updated_at": None}
    return {
        tables.CELL_MAPPINGS: [
            made | _cell_mapping(cell, cell_url(cell.name)) for cell in blueprint.cells
        ],
        tables.HOST_MAPPINGS: [
            made | {"id": number, "cell_id": host.cell.number, "host": host.name}
            for number, host in enumerate(blueprint.hosts, start=1)
        ],
        tables.INSTANCE_MAPPINGS: _instance_mappings(blueprint),
        tables.BUILD_REQUESTS: _build_requests(blueprint),
        tables.REQUEST_SPECS: _request_specs(blueprint),
        tables.FLAVORS: [made | _flavor(flavor) for flavor in FLAVORS],
        tables.AGGREGATES: [
            made | {"id": aggregate.number, "uuid": aggregate.uuid, "name": aggregate.name}
            for aggregate in blueprint.aggregates
        ],
        tables.AGGREGATE_HOSTS: [
            made | {"host": host.name, "aggregate_id": aggregate.number}
            for aggregate in blueprint.aggregates
            for host in aggregate.hosts
        ],
        tables.AGGREGATE_METADATA: [
            made | {"aggregate_id": aggregate.number, "key": aggregate.name, "value": "true"}
            for aggregate in blueprint.aggregates
        ],
    }


def _cell_mapping(cell: Cell, database_url: str) -> dict[str, Any]:
    return {
        "id": cell.number,
        "uuid": cell.uuid,
        "name": cell.name,
        # No message bus runs in the lab. Nova writes `none` for cell0.
        "transport_url": "none:///",
        "database_connection": database_url,
        "disabled": False,
    }


def _flavor(flavor: Flavor) -> dict[str, Any]:
    return {
        "id": flavor.number,
        "flavorid": str(flavor.number),
        "name": flavor.name,
        "memory_mb": flavor.memory_mb,
        "vcpus": flavor.vcpus,
        "swap": flavor.swap_mb,
        "root_gb": flavor.root_gb,
        "ephemeral_gb": flavor.ephemeral_gb,
        "rxtx_factor": 1.0,
        "disabled": False,
        "is_public": True,
    }


def _instance_mappings(blueprint: Blueprint) -> list[dict[str, Any]]:
    return [
        {
            "created_at": instance.created_at,
            "updated_at": instance.created_at,
            "id": instance.number,
            "instance_uuid": instance.uuid,
            "cell_id": instance.cell.number if instance.cell else None,
            "project_id": instance.tenant.project_id,
            "queued_for_delete": instance.state in _DEAD,
            "user_id": instance.tenant.user_id,
        }
        for instance in blueprint.instances
        # Archiving an instance removes its mapping and its request spec.
        if instance.state is not LifecycleState.ARCHIVED
    ]


def _build_requests(blueprint: Blueprint) -> list[dict[str, Any]]:
    return [
        {
            "created_at": instance.created_at,
            "updated_at": None,
            "project_id": instance.tenant.project_id,
            "instance_uuid": instance.uuid,
            "instance": objects.booting_instance(instance),
            "block_device_mappings": objects.no_block_devices(),
            "tags": None,
        }
        for instance in blueprint.instances
        if instance.state is LifecycleState.BOOTING
    ]


def _request_specs(blueprint: Blueprint) -> list[dict[str, Any]]:
    return [
        {
            "created_at": instance.created_at,
            "updated_at": None,
            "id": instance.number,
            "instance_uuid": instance.uuid,
            "spec": objects.request_spec(instance),
        }
        for instance in blueprint.instances
        if instance.state is not LifecycleState.ARCHIVED
    ]
