# SPDX-License-Identifier: Apache-2.0
"""The rows of a cell's database for a blueprint: services, compute nodes and moves.

The rows of instances are in `instance_rows`.
"""

import json
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from trueup.lab.blueprint import (
    ALLOCATION_RATIOS,
    CELL_ZERO,
    RESERVED_HOST_MEMORY_MB,
    Blueprint,
    Cell,
    Host,
    Move,
)
from trueup.lab.nova import cell_tables as tables
from trueup.lab.nova import objects
from trueup.lab.nova.databases import Rows
from trueup.lab.nova.instance_rows import instance_rows

_CLOUD_AGE = timedelta(days=400)
_SERVICE_VERSION = 74
_HYPERVISOR_VERSION = 8002002
_CPU = {
    "arch": "x86_64",
    "model": "Cascadelake-Server",
    "vendor": "Intel",
    "features": ["pge", "clflush", "avx2", "vmx"],
    "topology": {"cells": 2, "sockets": 1, "cores": 8, "threads": 2},
}
# Binary and topic of each service: a conductor in each cell, and the scheduler in cell0.
_CELL_ZERO_BINARIES = (("nova-scheduler", "scheduler"), ("nova-conductor", "conductor"))
_CELL_BINARIES = (("nova-conductor", "conductor"),)
_REPORTS_AHEAD = timedelta(days=365)


def cell_rows(blueprint: Blueprint, cell: Cell) -> Rows:
    """Every row of this cell's database."""
    used = {host.uuid: Counter[str]() for host in blueprint.hosts}
    for claim in blueprint.nova_claims():
        used[claim.host.uuid].update(claim.resources)
        used[claim.host.uuid]["instances"] += 1
    hosts = [host for host in blueprint.hosts if host.cell == cell]
    moves = (*blueprint.open_moves, *blueprint.past_moves)
    return {
        tables.SERVICES: _services(blueprint, cell, hosts),
        tables.COMPUTE_NODES: [_compute_node(blueprint, host, used[host.uuid]) for host in hosts],
        **instance_rows(blueprint, cell),
        tables.MIGRATIONS: [_migration(move) for move in moves if move.source.cell == cell],
    }


def service_number(host: Host) -> int:
    """`services.id` of the nova-compute on this host; the cell's own services come first."""
    return host.number + len(_CELL_BINARIES)


def _services(blueprint: Blueprint, cell: Cell, hosts: list[Host]) -> list[dict[str, Any]]:
    binaries = _CELL_ZERO_BINARIES if cell == CELL_ZERO else _CELL_BINARIES
    own = [
        {
            "id": number,
            "host": "controller-01",
            "binary": binary,
            "topic": topic,
            "uuid": str(uuid5(NAMESPACE_DNS, f"{binary}.{cell.uuid}.lab.example")),
            # No service reports in a lab: without this, a cell soon looks like a lagging replica.
            "last_seen_up": blueprint.now + _REPORTS_AHEAD,
        }
        for number, (binary, topic) in enumerate(binaries, start=1)
    ]
    computes = [
        {
            "id": service_number(host),
            "host": host.name,
            "binary": "nova-compute",
            "topic": "compute",
            "uuid": host.service_uuid,
        }
        for host in hosts
    ]
    reported = {
        "created_at": blueprint.now - _CLOUD_AGE,
        "updated_at": blueprint.now,
        "deleted_at": None,
        "deleted": 0,
        "report_count": 3_456_000,
        "disabled": False,
        "disabled_reason": None,
        "last_seen_up": blueprint.now,
        "forced_down": False,
        "version": _SERVICE_VERSION,
    }
    return [reported | service for service in own + computes]


def _compute_node(blueprint: Blueprint, host: Host, used: Counter[str]) -> dict[str, Any]:
    hardware = host.hardware
    memory_used_mb = RESERVED_HOST_MEMORY_MB + used["MEMORY_MB"]
    return {
        "created_at": blueprint.now - _CLOUD_AGE,
        "updated_at": blueprint.now,
        "deleted_at": None,
        "deleted": 0,
        "id": host.number,
        "service_id": service_number(host),
        "vcpus": hardware.vcpus,
        "memory_mb": hardware.memory_mb,
        "local_gb": hardware.disk_gb,
        "vcpus_used": used["VCPU"],
        "memory_mb_used": memory_used_mb,
        "local_gb_used": used["DISK_GB"],
        "hypervisor_type": "QEMU",
        "hypervisor_version": _HYPERVISOR_VERSION,
        "cpu_info": json.dumps(_CPU),
        "disk_available_least": hardware.disk_gb - used["DISK_GB"],
        "free_ram_mb": hardware.memory_mb - memory_used_mb,
        "free_disk_gb": hardware.disk_gb - used["DISK_GB"],
        "current_workload": 0,
        "running_vms": used["instances"],
        "hypervisor_hostname": host.node,
        "host_ip": _address(host),
        "supported_instances": json.dumps([["x86_64", "kvm", "hvm"]]),
        "pci_stats": objects.no_pci_pools(),
        "metrics": "[]",
        "extra_resources": None,
        "stats": json.dumps({"failed_builds": "0", "num_instances": str(used["instances"])}),
        "numa_topology": None,
        "host": host.name,
        "ram_allocation_ratio": ALLOCATION_RATIOS["MEMORY_MB"],
        "cpu_allocation_ratio": ALLOCATION_RATIOS["VCPU"],
        "disk_allocation_ratio": ALLOCATION_RATIOS["DISK_GB"],
        "uuid": host.uuid,
        "mapped": 1,
    }


def _address(host: Host) -> str:
    """An address of the range that RFC 2544 reserves for benchmarks."""
    return f"198.18.{host.cell.number}.{host.number % 256}"


def _migration(move: Move) -> dict[str, Any]:
    evacuated = move.kind == "evacuation"
    return {
        "created_at": move.started_at,
        "updated_at": move.updated_at,
        "deleted_at": None,
        "deleted": 0,
        "id": move.number,
        "source_compute": move.source.name,
        "dest_compute": move.target.name,
        "dest_host": _address(move.target),
        "status": move.status,
        "instance_uuid": move.instance.uuid,
        "old_instance_type_id": None if evacuated else move.old_flavor.number,
        "new_instance_type_id": None if evacuated else move.instance.flavor.number,
        "source_node": move.source.node,
        "dest_node": move.target.node,
        "migration_type": move.kind,
        "hidden": False,
        "memory_total": None,
        "memory_processed": None,
        "memory_remaining": None,
        "disk_total": None,
        "disk_processed": None,
        "disk_remaining": None,
        "uuid": move.uuid,
        "cross_cell_move": False,
        "user_id": move.instance.tenant.user_id,
        "project_id": move.instance.tenant.project_id,
        "dest_compute_id": move.target.number,
    }
