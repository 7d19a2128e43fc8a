# SPDX-License-Identifier: Apache-2.0
"""The rows of a generated cloud. The same shape, number of hosts and seed give the same rows.

flat     one provider for each host, with VCPU, MEMORY_MB, DISK_GB and about 40 traits
nested   a host with DISK_GB, two NUMA nodes with VCPU and MEMORY_MB, and network cards below them
sharing  a host with VCPU and MEMORY_MB; one pool with DISK_GB for every 25 hosts

Each host serves up to 50 consumers, which fill 60 to 80 % of its memory, and one host in twenty is
full. It is more regular than real clouds: it has no drift, and few kinds of hosts.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes
import os_traits

SHAPES = ("flat", "nested", "sharing")

Holding = Mapping[str, Mapping[str, int]]
"""UUID of a provider to resource class to amount."""
Row = tuple[Any, ...]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "resource_classes": ("id", "name"),
    "traits": ("id", "name"),
    "placement_aggregates": ("id", "uuid"),
    "resource_providers": (
        "id", "uuid", "name", "generation", "root_provider_id", "parent_provider_id",
    ),
    "inventories": (
        "id", "resource_provider_id", "resource_class_id", "total", "reserved", "min_unit",
        "max_unit", "step_size", "allocation_ratio",
    ),
    "resource_provider_traits": ("resource_provider_id", "trait_id"),
    "resource_provider_aggregates": ("resource_provider_id", "aggregate_id"),
    "projects": ("id", "external_id"),
    "users": ("id", "external_id"),
    "consumer_types": ("id", "name"),
    "consumers": ("id", "uuid", "project_id", "user_id", "generation", "consumer_type_id"),
    "allocations": ("id", "resource_provider_id", "consumer_id", "resource_class_id", "used"),
}  # fmt: skip

_CUSTOM_TRAITS = ("CUSTOM_GOLD", "CUSTOM_SILVER", "CUSTOM_RARE", "CUSTOM_PHYSNET_0",
                  "CUSTOM_PHYSNET_1", "CUSTOM_VNIC_TYPE_DIRECT")  # fmt: skip
# First, those that Nova requests nearly always.
_COMPUTE_TRAITS = ("COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_IMAGE_TYPE_QCOW2",
                   "COMPUTE_VOLUME_MULTI_ATTACH", "COMPUTE_NODE", "COMPUTE_TRUSTED_CERTS",
                   "HW_CPU_X86_SSE42", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2",
                   "HW_CPU_X86_AESNI")  # fmt: skip
_TRAITS_OF_A_HOST = 38
_OVERCOMMIT = 4.0
# CPUs, memory in MB and disk in GB: of flavors, and of hosts.
_FLAVORS = ((1, 1024, 10), (1, 2048, 20), (2, 4096, 40), (2, 4096, 40), (4, 8192, 80),
            (4, 8192, 40), (8, 16384, 80))  # fmt: skip
_MACHINES = ((64, 196608, 4000), (96, 262144, 6000), (128, 327680, 8000))
_RESERVED_MB = 512
_CONSUMERS_MAX = 50
_HOSTS_OF_A_RACK, _HOSTS_OF_A_POOL, _HOSTS_OF_A_PROJECT = 40, 25, 20
_ZONES = 3


@dataclass(frozen=True, slots=True)
class Cloud:
    """All rows by table, in the order of loading, and the objects that operations may use."""

    shape: str
    rows: Mapping[str, Sequence[Row]]
    hosts: Sequence[str]
    """The UUIDs of all roots, without pools."""
    consumers: Sequence[str]
    racks: Sequence[str]
    zones: Sequence[str]
    """The UUIDs of aggregates: small ones, and thirds of the cloud."""
    projects: Sequence[str]
    rooms: Sequence[Holding]
    """For each host that is not full, the allocation of one small instance there."""


def draw(shape: str, hosts: int, seed: int = 1, consumers_max: int = _CONSUMERS_MAX) -> Cloud:
    """Generate the cloud of this shape and size, with at most so many consumers on a host."""
    draft = _Draft(random.Random(f"{shape}/{hosts}/{seed}"), consumers_max)
    draft.add_names(hosts)
    racks = [draft.add_aggregate() for _ in range(max(2, hosts // _HOSTS_OF_A_RACK))]
    zones = [draft.add_aggregate() for _ in range(_ZONES)]
    pools = []
    if shape == "sharing":
        count = max(1, hosts // _HOSTS_OF_A_POOL)
        pools = [_add_pool(draft, number) for number in range(count)]
    uuids, rooms = [], []
    for number in range(hosts):
        groups = [zones[number % len(zones)]]
        if draft.random.random() < 0.7:
            groups.append(racks[number % len(racks)])
        pool = pools[number % len(pools)] if pools else None
        host = _add_host(draft, shape, number, pool)
        draft.join(host.provider, groups)
        uuids.append(host.provider.uuid)
        if not host.full:
            rooms.append(host.room)
    return Cloud(
        shape=shape,
        rows=draft.rows,
        hosts=uuids,
        consumers=draft.consumers,
        racks=[uuid for _, uuid in racks],
        zones=[uuid for _, uuid in zones],
        projects=draft.projects,
        rooms=rooms,
    )


@dataclass(frozen=True, slots=True)
class _Provider:
    id: int
    uuid: str
    root_id: int


@dataclass(frozen=True, slots=True)
class _Pool:
    provider: _Provider
    aggregate: tuple[int, str]


@dataclass(frozen=True, slots=True)
class _Host:
    provider: _Provider
    room: Holding
    full: bool


@dataclass(frozen=True, slots=True)
class _Places:
    """Which provider gives which resource class to the consumers of a part of a host."""

    processors: _Provider
    disk: _Provider
    memory_mb: int


class _Draft:
    """The rows so far. Ids begin at one, as in a database."""

    def __init__(self, source: random.Random, consumers_max: int):
        self.random, self.consumers_max = source, consumers_max
        self.rows: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        self.consumers: list[str] = []
        self.projects: list[str] = []
        self.trait_ids: dict[str, int] = {}
        self.class_ids: dict[str, int] = {}
        self.usual_traits: list[str] = []

    def add_names(self, hosts: int) -> None:
        """Add all rows that only have a name: traits, classes, projects, users, consumer type."""
        standard = sorted(os_traits.get_traits())
        self.trait_ids = {name: 1 + n for n, name in enumerate([*standard, *_CUSTOM_TRAITS])}
        self.class_ids = {name: n for n, name in enumerate(os_resource_classes.STANDARDS)}
        self.rows["traits"] = [(key, name) for name, key in self.trait_ids.items()]
        self.rows["resource_classes"] = [(key, name) for name, key in self.class_ids.items()]
        others = [name for name in standard if name.startswith(("COMPUTE_", "HW_CPU_X86_"))]
        kept = [name for name in others if "AVX512" not in name and "DISABLED" not in name]
        usual = dict.fromkeys([*_COMPUTE_TRAITS, *kept])
        self.usual_traits = list(usual)[: _TRAITS_OF_A_HOST - 1]
        for number in range(max(10, hosts // _HOSTS_OF_A_PROJECT)):
            self.projects.append(self.uuid())
            self.rows["projects"].append((number + 1, self.projects[-1]))
            self.rows["users"].append((number + 1, self.uuid()))
        self.rows["consumer_types"].append((1, "INSTANCE"))

    def uuid(self) -> str:
        """A UUID of version 4, from the cloud's own random numbers."""
        digits = f"{self.random.getrandbits(128):032x}"
        parts = (digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:])
        return "-".join(parts)

    def add(self, table: str, *values: object) -> int:
        """Add a row to a table with ids; return the id."""
        rows = self.rows[table]
        key = len(rows) + 1
        rows.append((key, *values))
        return key

    def add_aggregate(self) -> tuple[int, str]:
        uuid = self.uuid()
        return self.add("placement_aggregates", uuid), uuid

    def add_provider(self, name: str, parent: _Provider | None = None) -> _Provider:
        uuid, own_id = self.uuid(), len(self.rows["resource_providers"]) + 1
        root_id = parent.root_id if parent else own_id
        parent_id = parent.id if parent else None
        self.add("resource_providers", uuid, name, 5, root_id, parent_id)
        return _Provider(own_id, uuid, root_id)

    def stock(
        self, provider: _Provider, name: str, total: int, reserved: int = 0, ratio: float = 1.0
    ) -> None:
        """Give a provider an inventory."""
        place = (provider.id, self.class_ids[name])
        self.add("inventories", *place, total, reserved, 1, total, 1, ratio)

    def mark(self, provider: _Provider, names: Sequence[str]) -> None:
        """Give a provider traits."""
        rows = [(provider.id, self.trait_ids[name]) for name in names]
        self.rows["resource_provider_traits"] += rows

    def join(self, provider: _Provider, groups: Sequence[tuple[int, str]]) -> None:
        rows = [(provider.id, key) for key, _ in groups]
        self.rows["resource_provider_aggregates"] += rows

    def add_consumer(self, held: Sequence[tuple[_Provider, str, int]]) -> None:
        """Add a consumer that holds these amounts."""
        uuid, project = self.uuid(), 1 + self.random.randrange(len(self.projects))
        self.add("consumers", uuid, project, project, 1, 1)
        self.consumers.append(uuid)
        for provider, name, amount in held:
            self.add("allocations", provider.id, uuid, self.class_ids[name], amount)


def _add_pool(draft: _Draft, number: int) -> _Pool:
    pool = _Pool(draft.add_provider(f"pool-{number}"), draft.add_aggregate())
    draft.stock(pool.provider, "DISK_GB", 200000)
    draft.mark(pool.provider, ["MISC_SHARES_VIA_AGGREGATE", "STORAGE_DISK_SSD"])
    draft.join(pool.provider, [pool.aggregate])
    return pool


def _add_host(draft: _Draft, shape: str, number: int, pool: _Pool | None) -> _Host:
    host = draft.add_provider(f"host-{number}")
    draft.mark(host, _traits_of_host(draft))
    processors, memory_mb, disk_gb = draft.random.choice(_MACHINES)
    full = draft.random.random() < 0.05
    if shape == "nested":
        draft.stock(host, "DISK_GB", disk_gb)
        nodes = [_add_node(draft, host, f"host-{number}-numa{n}", full) for n in (0, 1)]
        return _Host(host, _room(_Places(nodes[0], host, 0)), full)
    draft.stock(host, "VCPU", processors, 2, _OVERCOMMIT)
    draft.stock(host, "MEMORY_MB", memory_mb, _RESERVED_MB)
    disk = host
    if pool is None:
        draft.stock(host, "DISK_GB", disk_gb)
    else:
        disk = pool.provider
        draft.join(host, [pool.aggregate])
    places = _Places(host, disk, memory_mb - _RESERVED_MB)
    _fill(draft, places, full)
    return _Host(host, _room(places), full)


def _add_node(draft: _Draft, host: _Provider, name: str, full: bool) -> _Provider:
    """Add a NUMA node with up to three network cards, and its consumers."""
    node = draft.add_provider(name, host)
    draft.stock(node, "VCPU", 48, 1, _OVERCOMMIT)
    draft.stock(node, "MEMORY_MB", 98304, _RESERVED_MB)
    draft.mark(node, ["HW_NUMA_ROOT", "HW_CPU_X86_AVX2"])
    for number in range(draft.random.randint(1, 3)):
        card = draft.add_provider(f"{name}-card{number}", node)
        draft.stock(card, "SRIOV_NET_VF", 8)
        draft.stock(card, "NET_BW_EGR_KILOBIT_PER_SEC", 10000000)
        draft.stock(card, "NET_BW_IGR_KILOBIT_PER_SEC", 10000000)
        network = f"CUSTOM_PHYSNET_{draft.random.randrange(2)}"
        draft.mark(card, [network, "CUSTOM_VNIC_TYPE_DIRECT", "HW_NIC_SRIOV"])
        for _ in range(draft.random.randrange(6)):
            draft.add_consumer(
                [
                    (card, "SRIOV_NET_VF", 1),
                    (card, "NET_BW_EGR_KILOBIT_PER_SEC", 500000),
                    (card, "NET_BW_IGR_KILOBIT_PER_SEC", 500000),
                ]
            )
    _fill(draft, _Places(node, host, 98304 - _RESERVED_MB), full)
    return node


def _traits_of_host(draft: _Draft) -> list[str]:
    names = [*draft.usual_traits, "CUSTOM_GOLD" if draft.random.random() < 0.1 else "CUSTOM_SILVER"]
    for name, share in (
        ("HW_CPU_X86_AVX512F", 0.3),
        ("COMPUTE_STATUS_DISABLED", 0.05),
        ("CUSTOM_RARE", 0.01),
    ):
        if draft.random.random() < share:
            names.append(name)
    return names


def _fill(draft: _Draft, places: _Places, full: bool) -> None:
    """Add consumers until the target memory usage or the largest number of consumers is reached."""
    goal = places.memory_mb if full else places.memory_mb * draft.random.uniform(0.6, 0.8)
    used = 0
    for _ in range(draft.consumers_max):
        processors, memory_mb, disk_gb = draft.random.choice(_FLAVORS)
        if used + memory_mb > goal:
            break
        used += memory_mb
        draft.add_consumer(
            [
                (places.processors, "VCPU", processors),
                (places.processors, "MEMORY_MB", memory_mb),
                (places.disk, "DISK_GB", disk_gb),
            ]
        )


def _room(places: _Places) -> Holding:
    room: dict[str, dict[str, int]] = {places.processors.uuid: {"VCPU": 1, "MEMORY_MB": 16}}
    room.setdefault(places.disk.uuid, {})["DISK_GB"] = 1
    return room
