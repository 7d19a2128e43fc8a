# SPDX-License-Identifier: Apache-2.0
"""Facts: all that was read of a cloud at one moment, and which sources answered.

Frozen values with lookups over them; nothing here reads or writes anything outside.
Times are naive UTC, as Nova keeps them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

# provider uuid → resource class → amount
Amounts = Mapping[str, Mapping[str, int]]

# Statuses after which Nova never touches a migration again (nova-facts: every other one is under
# way; an unconfirmed resize is `finished`, which is not final).
FINAL_MIGRATION_STATUSES = frozenset(
    {"confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"}
)

# Nova's default `service_down_time`: a service that has not reported for longer is down.
SERVICE_DOWN_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether one source (a cell, Nova's API database, Placement) answered in this run."""

    source: str
    answered: bool
    rows: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every source that could know something, and whether it answered."""

    answers: tuple[Answer, ...]

    @property
    def missing(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.answered)

    @property
    def complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a provider has of one resource class."""

    total: int
    reserved: int
    allocation_ratio: float

    @property
    def capacity(self) -> int:
        return int((self.total - self.reserved) * self.allocation_ratio)


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider, with its inventories by resource class."""

    uuid: str
    name: str
    generation: int
    root: str
    inventories: Mapping[str, Inventory]
    sharing: bool = False


@dataclass(frozen=True, slots=True)
class Allocations:
    """All that one consumer holds, and who owns the consumer.

    `consumer_type` is None where Placement keeps none (`unknown` in its API).
    """

    amounts: Amounts
    project: str
    user: str
    consumer_type: str | None = None


@dataclass(frozen=True, slots=True)
class Flavor:
    """The flavor an instance has now; `swap_mb` in MiB, disks in GiB."""

    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int
    swap_mb: int
    extra_specs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Instance:
    """A row of a cell's `instances`, alive or deleted.

    `flavor` is None where it was not read (deleted instances) or cannot be read. `peculiarities`
    names what the instance asks for besides its flavor's plain amounts.
    """

    uuid: str
    name: str
    cell: str
    project: str
    user: str
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    hidden: bool
    updated_at: datetime | None
    deleted_at: datetime | None = None
    flavor: Flavor | None = None
    volume_backed: bool = False
    peculiarities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Migration:
    """A row of a cell's `migrations`: a move of one instance, under way or over."""

    uuid: str
    cell: str
    instance: str
    kind: str
    status: str
    source_host: str | None
    source_node: str | None

    @property
    def under_way(self) -> bool:
        return self.status not in FINAL_MIGRATION_STATUSES


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A row of a cell's `compute_nodes` that is not deleted; `uuid` is its provider's uuid."""

    uuid: str
    cell: str
    host: str
    node: str


@dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute service that is not deleted."""

    cell: str
    host: str
    forced_down: bool
    last_seen: datetime | None

    def is_up(self, now: datetime) -> bool:
        if self.forced_down or self.last_seen is None:
            return False
        return now - self.last_seen <= SERVICE_DOWN_AFTER


@dataclass(frozen=True)
class Facts:
    """One picture of a cloud. `consumers` are the amounts held, by consumer uuid."""

    taken_at: datetime
    coverage: Coverage
    cells: Mapping[str, str]  # uuid → name
    providers: Mapping[str, Provider]
    consumers: Mapping[str, Amounts]
    instances: tuple[Instance, ...] = ()
    migrations: tuple[Migration, ...] = ()
    compute_nodes: tuple[ComputeNode, ...] = ()
    services: tuple[ComputeService, ...] = ()
    builds: frozenset[str] = frozenset()
    # Owner and generation, known for the consumers that a plan is about.
    holdings: Mapping[str, "Holding"] = field(default_factory=dict)

    @cached_property
    def alive(self) -> Mapping[str, Instance]:
        """Instances that are not deleted, by uuid; also hidden ones, whose sibling moves."""
        return {row.uuid: row for row in self.instances if not row.deleted}

    @cached_property
    def deleted(self) -> Mapping[str, Instance]:
        """Instances that a cell says are deleted and no cell says are alive, by uuid."""
        rows = {row.uuid: row for row in self.instances if row.deleted}
        return {uuid: row for uuid, row in rows.items() if uuid not in self.alive}

    @cached_property
    def moving(self) -> Mapping[str, Migration]:
        """The migration under way of each instance that has one, by instance uuid."""
        return {row.instance: row for row in self.migrations if row.under_way}

    @cached_property
    def evacuations(self) -> Mapping[str, tuple[Migration, ...]]:
        """Evacuations that are over and were not undone, by instance uuid."""
        return grouped(
            (row.instance, row)
            for row in self.migrations
            if row.kind == "evacuation" and row.status in ("done", "completed")
        )

    @cached_property
    def nodes_by_place(self) -> Mapping[tuple[str, str, str], tuple[ComputeNode, ...]]:
        """Compute nodes by (cell, host, node)."""
        return grouped(((row.cell, row.host, row.node), row) for row in self.compute_nodes)

    @cached_property
    def nodes_by_uuid(self) -> Mapping[str, tuple[ComputeNode, ...]]:
        return grouped((row.uuid, row) for row in self.compute_nodes)

    @cached_property
    def providers_by_name(self) -> Mapping[str, tuple[Provider, ...]]:
        return grouped((row.name, row) for row in self.providers.values())

    @cached_property
    def services_by_host(self) -> Mapping[tuple[str, str], ComputeService]:
        return {(row.cell, row.host): row for row in self.services}

    def roots_of(self, amounts: Amounts) -> frozenset[str]:
        """The roots of the trees in which these amounts are held, sharing providers left out."""
        held = (self.providers[uuid] for uuid in amounts if uuid in self.providers)
        return frozenset(provider.root for provider in held if not provider.sharing)


@dataclass(frozen=True, slots=True)
class Holding:
    """A consumer as Placement gives it: its allocations (None: it holds nothing) and generation."""

    allocations: Allocations | None
    generation: int | None


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    """Values by key, in the order given."""
    groups: dict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
