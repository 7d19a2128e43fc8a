# SPDX-License-Identifier: Apache-2.0
"""The blueprint of a lab cloud: what is where, before any row of it is written.

Frozen values only. `draft` decides them; `nova` and `ledger` write them down, so that the two
databases of a healthy cloud agree because they come from one page.
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


# Where boots go that found no host; Nova knows it by this uuid.
CELL_ZERO = Cell(1, "00000000-0000-0000-0000-000000000000", "cell0")


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a host has in it, before allocation ratios."""

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

    `number` is the row's id in its cell, `node` the hypervisor's name and so the provider's, and
    `uuid` that of the compute node and so of the provider.
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


class Standing(StrEnum):
    """Where an instance is in its life; what is held in Placement follows from it."""

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


# On one host, nothing under way: what they hold is exactly their flavor.
SETTLED = frozenset({Standing.ACTIVE, Standing.STOPPED, Standing.SOFT_DELETED})


@dataclass(frozen=True, slots=True)
class Instance:
    """A server. `host` is where Nova says it is: None before a boot ends and once shelved."""

    number: int
    uuid: str
    name: str
    standing: Standing
    flavor: Flavor
    volume_backed: bool
    tenant: Tenant
    cell: Cell | None
    host: Host | None
    created_at: datetime
    updated_at: datetime

    def resources(self) -> dict[str, int]:
        """What Nova claims for it by its present flavor."""
        return self.flavor.resources(volume_backed=self.volume_backed)


@dataclass(frozen=True, slots=True)
class Move:
    """A row of `migrations`: an instance going, or gone, from `source` to `target`."""

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
        """What the move itself holds on its source until it is over."""
        return self.old_flavor.resources(volume_backed=self.instance.volume_backed)


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """A Nova host aggregate, mirrored in Placement under the same uuid."""

    number: int
    uuid: str
    name: str
    hosts: tuple[Host, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one consumer holds on one provider."""

    consumer_uuid: str
    tenant: Tenant
    host: Host
    resources: dict[str, int]


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The whole cloud. `open_moves` hold allocations, `past_moves` are history."""

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
            if host is not None and instance.standing not in _HOLDS_NOTHING:
                yield Claim(instance.uuid, instance.tenant, host, instance.resources())
        for move in self.open_moves:
            yield Claim(move.uuid, move.instance.tenant, move.source, move.resources_at_source())


_HOLDS_NOTHING = frozenset({Standing.DELETED, Standing.ARCHIVED, Standing.BOOTING})
