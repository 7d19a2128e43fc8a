# SPDX-License-Identifier: Apache-2.0
"""Writes the providers and allocations of a lab cloud over Placement's API."""

from collections.abc import Iterable, Mapping
from typing import Any

from trueup.lab.blueprint import (
    ALLOCATION_RATIOS,
    RESERVED_HOST_MEMORY_MB,
    Blueprint,
    Claim,
    Hardware,
    Host,
    HostAggregate,
)
from trueup.lab.placement_client import PlacementClient

# A part of what nova-compute reports for a plain libvirt host.
_TRAITS = (
    "COMPUTE_DEVICE_TAGGING",
    "COMPUTE_IMAGE_TYPE_QCOW2",
    "COMPUTE_IMAGE_TYPE_RAW",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_NODE",
    "COMPUTE_VOLUME_EXTEND",
    "COMPUTE_VOLUME_MULTI_ATTACH",
    "HW_CPU_X86_AVX2",
    "HW_CPU_X86_VMX",
    "OWNER_NOVA",
)


def fill_ledger(placement: PlacementClient, blueprint: Blueprint) -> None:
    """Write providers and allocations. Raises `PlacementRefused`."""
    for host in blueprint.hosts:
        _add_provider(placement, host, blueprint.aggregates)
    placement.post("/allocations", _new_consumers(blueprint.claims()))


def _add_provider(
    placement: PlacementClient, host: Host, aggregates: Iterable[HostAggregate]
) -> None:
    url = f"/resource_providers/{host.uuid}"
    provider = placement.post("/resource_providers", {"uuid": host.uuid, "name": host.node})
    stocked = placement.put(
        f"{url}/inventories",
        {
            "resource_provider_generation": provider["generation"],
            "inventories": _inventories(host.hardware),
        },
    )
    known = placement.put(
        f"{url}/traits",
        {
            "resource_provider_generation": stocked["resource_provider_generation"],
            "traits": list(_TRAITS),
        },
    )
    memberships = [aggregate.uuid for aggregate in aggregates if host in aggregate.hosts]
    if memberships:
        placement.put(
            f"{url}/aggregates",
            {
                "resource_provider_generation": known["resource_provider_generation"],
                "aggregates": memberships,
            },
        )


def _inventories(hardware: Hardware) -> dict[str, dict[str, int | float]]:
    totals = {
        "VCPU": hardware.vcpus,
        "MEMORY_MB": hardware.memory_mb,
        "DISK_GB": hardware.disk_gb,
    }
    return {
        resource_class: {
            "total": total,
            "reserved": RESERVED_HOST_MEMORY_MB if resource_class == "MEMORY_MB" else 0,
            "min_unit": 1,
            "max_unit": total,
            "step_size": 1,
            "allocation_ratio": ALLOCATION_RATIOS[resource_class],
        }
        for resource_class, total in totals.items()
    }


def _new_consumers(claims: Iterable[Claim]) -> Mapping[str, Any]:
    """One body for all consumers: Placement accepts all of them or none."""
    return {
        claim.consumer_uuid: {
            "allocations": {claim.host.uuid: {"resources": claim.resources}},
            "project_id": claim.tenant.project_id,
            "user_id": claim.tenant.user_id,
            "consumer_generation": None,
        }
        for claim in claims
    }
