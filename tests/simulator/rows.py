# SPDX-License-Identifier: Apache-2.0
"""Rows of the simulated databases, as frozen values: a write replaces a row.

`uuid_of("web")` is the uuid of the thing that is named web.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

# provider uuid → resource class → amount
Amounts = Mapping[str, Mapping[str, int]]

PROJECT, USER = "a-project", "a-user"


@cache
def uuid_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


@dataclass(frozen=True, slots=True)
class FlavorRow:
    """A flavor. Memory and swap in MiB, disks in GiB; `dedicated`: its processors are PCPU.

    `metal`: it asks for a bare metal node, and for nothing else.
    """

    name: str
    vcpus: int
    memory_mb: int
    root_gb: int
    ephemeral_gb: int = 0
    swap_mb: int = 0
    dedicated: bool = False
    metal: bool = False


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A row of `instances`. `deleted` is 0, or the number that Nova or a person wrote."""

    uuid: str
    name: str
    host: str | None
    vm_state: str
    task_state: str | None
    flavor: FlavorRow
    created_at: datetime
    updated_at: datetime
    deleted: int = 0
    deleted_at: datetime | None = None
    hidden: bool = False
    old_flavor: FlavorRow | None = None
    new_flavor: FlavorRow | None = None
    volume_backed: bool = False
    # 0 (no state): nova-compute looked for the guest on the row's host, and it is not there.
    power_state: int | None = None
    # The row is in `shadow_instances`.
    archived: bool = False
    # None: the node has the name of its host.
    node: str | None = None


@dataclass(frozen=True, slots=True)
class MigrationRow:
    """A row of `migrations`. A host and its node have the same name."""

    uuid: str
    server: str
    kind: str
    status: str
    source: str
    target: str | None
    created_at: datetime
    updated_at: datetime
    between_cells: bool = False
    deleted: int = 0
    archived: bool = False


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """A nova-compute service."""

    host: str
    last_seen: datetime
    forced_down: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A row of `compute_nodes`; `uuid` is its provider's."""

    uuid: str
    host: str
    name: str
    deleted: bool = False
    metal: bool = False


@dataclass(frozen=True, slots=True)
class AggregateRow:
    """A host aggregate of Nova's, with the names of its hosts, and pairs of its metadata."""

    uuid: str
    name: str
    hosts: frozenset[str]
    metadata: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A resource provider of Placement; `totals` by resource class, of each so much reserved."""

    uuid: str
    name: str
    totals: Mapping[str, int]
    parent: str | None = None
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    generation: int = 1
    reserved: int = 0


@dataclass(frozen=True, slots=True)
class MappingRow:
    """A row of `instance_mappings`; `cell` is a name, None before one is chosen."""

    server: str
    cell: str | None
    queued_for_delete: bool
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class PortRow:
    """A port that asks for bandwidth. `provider` is the one in its binding profile, if any."""

    uuid: str
    server: str
    kilobits: int
    provider: str | None
    revision: int = 1


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """Everything that one consumer holds, with its owner and generation."""

    amounts: Amounts
    generation: int
    project: str = PROJECT
    user: str = USER


@dataclass(frozen=True, slots=True)
class CellRows:
    """All rows of a cell's database at one moment, by uuid or host."""

    servers: Mapping[str, ServerRow] = field(default_factory=dict)
    migrations: Mapping[str, MigrationRow] = field(default_factory=dict)
    services: Mapping[str, ServiceRow] = field(default_factory=dict)
    nodes: Mapping[str, NodeRow] = field(default_factory=dict)
