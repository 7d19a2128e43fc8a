# SPDX-License-Identifier: Apache-2.0
"""The operations that only read. Each request gets a new random path."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from bench.cloud import SHAPES, Cloud

Draw = Callable[[Cloud, random.Random], str]

_ASK = "/allocation_candidates?"
_SMALL = "resources=VCPU:1,MEMORY_MB:1024,DISK_GB:10"
_NOVA = "required=COMPUTE_NET_ATTACH_INTERFACE,COMPUTE_IMAGE_TYPE_QCOW2,!COMPUTE_STATUS_DISABLED"
_NODE = "resources_NUMA=VCPU:2,MEMORY_MB:2048&required_NUMA=HW_NUMA_ROOT"
_CARD = (
    "resources_CARD=SRIOV_NET_VF:1,NET_BW_EGR_KILOBIT_PER_SEC:1000,NET_BW_IGR_KILOBIT_PER_SEC:1000"
    "&required_CARD=CUSTOM_PHYSNET_0,CUSTOM_VNIC_TYPE_DIRECT"
)
_TWO_NODES = "resources1=VCPU:2,MEMORY_MB:2048&resources2=VCPU:2,MEMORY_MB:2048"


@dataclass(frozen=True, slots=True)
class Read:
    """An operation that changes nothing."""

    name: str
    draw: Draw
    shapes: tuple[str, ...] = SHAPES
    microversion: str = "latest"


def _always(path: str) -> Draw:
    return lambda cloud, source: path


def _of_host(path: str) -> Draw:
    return lambda cloud, source: path.format(host=source.choice(cloud.hosts))


def _provider(part: str) -> Draw:
    return _of_host(f"/resource_providers/{{host}}{part}")


def _by_name(cloud: Cloud, source: random.Random) -> str:
    return f"/resource_providers?name=host-{source.randrange(len(cloud.hosts))}"


def _filtered(cloud: Cloud, source: random.Random) -> str:
    return (
        "/resource_providers?resources=DISK_GB:10&required=!COMPUTE_STATUS_DISABLED"
        f"&member_of=in:{cloud.racks[0]},{source.choice(cloud.racks)}"
    )


def _of_consumer(cloud: Cloud, source: random.Random) -> str:
    return f"/allocations/{source.choice(cloud.consumers)}"


def _of_project(cloud: Cloud, source: random.Random) -> str:
    return f"/usages?project_id={source.choice(cloud.projects)}"


def _in_rack(cloud: Cloud, source: random.Random) -> str:
    return f"{_ASK}{_SMALL}&member_of={source.choice(cloud.racks)}&limit=1000"


def _as_nova_asks(cloud: Cloud, source: random.Random) -> str:
    return f"{_ASK}{_SMALL}&{_NOVA}&member_of={source.choice(cloud.zones)}&limit=1000"


READS = (
    Read("root", _always("/")),
    Read("show", _provider("")),
    Read("list_all", _always("/resource_providers")),
    Read("list_filtered", _filtered, ("flat", "nested")),
    Read("list_by_name", _by_name),
    Read("get_inventories", _provider("/inventories")),
    Read("get_usages", _provider("/usages")),
    Read("get_traits", _provider("/traits")),
    Read("get_aggregates", _provider("/aggregates")),
    Read("get_provider_allocations", _provider("/allocations")),
    Read("get_allocations", _of_consumer),
    Read("project_usages", _of_project),
    # Upstream fails on PostgreSQL from 1.38 on.
    Read("project_usages_1.37", _of_project, microversion="1.37"),
    Read("all_traits", _always("/traits")),
    Read("all_classes", _always("/resource_classes")),
    Read("candidates_limit_1", _always(f"{_ASK}{_SMALL}&limit=1")),
    Read("candidates_limit_10", _always(f"{_ASK}{_SMALL}&limit=10")),
    Read("candidates_limit_1000", _always(f"{_ASK}{_SMALL}&limit=1000")),
    Read("candidates_all", _always(f"{_ASK}{_SMALL}")),
    Read("candidates_traits", _always(f"{_ASK}{_SMALL}&required=HW_CPU_X86_AVX512F&limit=1000")),
    Read("candidates_member_of", _in_rack),
    Read("candidates_in_tree", _of_host(f"{_ASK}{_SMALL}&in_tree={{host}}&limit=1000")),
    Read("candidates_nova", _as_nova_asks),
    Read(
        "candidates_isolate",
        _always(f"{_ASK}resources=DISK_GB:10&{_TWO_NODES}&group_policy=isolate&limit=1000"),
        ("nested",),
    ),
    Read(
        "candidates_same_subtree",
        _always(
            f"{_ASK}resources=DISK_GB:10&{_NODE}&{_CARD}&same_subtree=_NUMA,_CARD"
            "&group_policy=none&limit=1000"
        ),
        ("nested",),
    ),
)
