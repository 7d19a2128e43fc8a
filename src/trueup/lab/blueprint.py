# SPDX-License-Identifier: Apache-2.0
"""The blueprint of a lab cloud, from which all its rows are written.

`generate` makes it, and `nova` and `ledger` write it. In a healthy cloud Nova's databases and
Placement agree because both are written from one blueprint.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trueup.lab.flavors import Flavor

RESERVED_HOST_MEMORY_MB = 512
ALLOCATION_RATIOS = {"VCPU": 4.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}


@dataclass(frozen=True, slots=True)
class Cell:
    """A Nova cell; `number` is `cell_mappings.id`."""

    number: int
    uuid: str
    name: str


# The cell of instances for which Nova found no host. Nova gives it this fixed UUID.
CELL_ZERO = Cell(1, "00000000-0000-0000-0000-000000000000", "cell0")


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware of a host, before allocation ratios."""

    vcpus: int
    memory_mb: int
    disk_gb: int

    def capacity(self) -> dict[str, int]:
        """How much of each resource class instances may hold."""
        return {
            "VCPU": int(self.vcpus * ALLOCATION_RATIOS["VCPU"]),
            "MEMORY_MB": self.memory_mb - RESERVED_HOST_MEMORY_MB,
            "DISK_GB": self.disk_gb,
        }


@dataclass(frozen=True, slots=True)
class Host:
    """A compute host with one compute node.

    `number` is the id of its row in the cell's database. `node` is the name of the hypervisor and
    of its resource provider; `uuid` is the UUID of the compute node and of its provider.
    """

    number: int
    uuid: str
    service_uuid: str
    name: str
    node: str
    cell: Cell
    hardware: Hardware


@dataclass(frozen=True, slots=True)
class Tenant:
    """A project and the one user who works in it."""

    project_id: str
    user_id: str


class LifecycleState(StrEnum):
    """The state of an instance, which determines its allocation."""

    ACTIVE = "active"
    STOPPED = "stopped"
    SOFT_DELETED = "soft-deleted"
    RESIZED = "resized"
    MIGRATING = "migrating"
    SHELVED = "shelved"
    BOOTING = "booting"
    FAILED = "failed"
    DELETED = "deleted"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Instance:
    """A server. `host` is None until Nova has chosen a host, and after shelving."""

    number: int
    uuid: str
    name: str
    state: LifecycleState
    flavor: Flavor
    volume_backed: bool
    tenant: Tenant
    cell: Cell | None
    host: Host | None
    created_at: datetime
    updated_at: datetime

    def resources(self) -> dict[str, int]:
        """What Nova allocates for it according to its current flavor."""
        return self.flavor.resources(volume_backed=self.volume_backed)


@dataclass(frozen=True, slots=True)
class Move:
    """A row of `migrations`: the instance moves, or has moved, from `source` to `target`."""

    number: int
    uuid: str
    kind: str
    status: str
    instance: Instance
    old_flavor: Flavor
    source: Host
    target: Host
    started_at: datetime
    updated_at: datetime

    def resources_at_source(self) -> dict[str, int]:
        """The allocation of the migration on its source host while it is in progress."""
        return self.old_flavor.resources(volume_backed=self.instance.volume_backed)


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """A Nova host aggregate; Placement has it under the same UUID."""

    number: int
    uuid: str
    name: str
    hosts: tuple[Host, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """The allocation of one consumer on one provider."""

    consumer_uuid: str
    tenant: Tenant
    host: Host
    resources: dict[str, int]


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The whole cloud.

    `open_moves` are in progress and hold allocations; `past_moves` have ended and hold nothing.
    `boots` are the allocations of instances that are being built, `containers` those of Zun.
    """

    now: datetime
    cells: tuple[Cell, ...]
    hosts: tuple[Host, ...]
    aggregates: tuple[HostAggregate, ...]
    instances: tuple[Instance, ...]
    boots: tuple[Claim, ...]
    open_moves: tuple[Move, ...]
    past_moves: tuple[Move, ...]
    containers: tuple[Claim, ...]

    def claims(self) -> tuple[Claim, ...]:
        """Every allocation of the healthy cloud; one provider for each consumer."""
        return (*self.nova_claims(), *self.containers)

    def nova_claims(self) -> Iterator[Claim]:
        """The allocations that Nova makes."""
        yield from self.boots
        on_target = {move.instance.uuid: move.target for move in self.open_moves}
        for instance in self.instances:
            host = on_target.get(instance.uuid, instance.host)
            if host is not None and instance.state not in _STATES_WITHOUT_ALLOCATION:
                yield Claim(instance.uuid, instance.tenant, host, instance.resources())
        for move in self.open_moves:
            yield Claim(move.uuid, move.instance.tenant, move.source, move.resources_at_source())


_STATES_WITHOUT_ALLOCATION = frozenset(
    {LifecycleState.DELETED, LifecycleState.ARCHIVED, LifecycleState.BOOTING}
)
