# SPDX-License-Identifier: Apache-2.0
"""Guards: every condition that a step can have, as frozen values of a plan.

`runs/guard_checks` reads each guard again just before the step is written.
"""

import msgspec

from trueup.reconcile.facts import InstanceState
from trueup.reconcile.steps.targets import Target, Version


class MigrationState(msgspec.Struct, frozen=True, tag="migration"):
    """Guard: this migration of this instance still has this status."""

    cell: str
    instance: str
    migration: str
    status: str


class VersionIs(msgspec.Struct, frozen=True, tag="version"):
    """Guard: a target that the step does not change still has this version."""

    target: Target
    version: Version


class ServiceDown(msgspec.Struct, frozen=True, tag="service-down"):
    """Guard: the compute service of a host does not report, or is forced down."""

    cell: str
    host: str


class CellFresh(msgspec.Struct, frozen=True, tag="cell-fresh"):
    """Guard: some service of a cell has reported within so many seconds."""

    cell: str
    seconds: int


class DomainIs(msgspec.Struct, frozen=True, tag="domain-is"):
    """Guard: a host's hypervisor has the domain in this state; None if it has no such domain."""

    host: str
    domain: str
    state: str | None


class ServiceSetting(msgspec.Struct, frozen=True, tag="service-setting"):
    """Guard: the compute service of a host is still enabled, or still disabled."""

    cell: str
    host: str
    disabled: bool


class AggregatesOfHost(msgspec.Struct, frozen=True, tag="host-aggregates"):
    """Guard: Nova has a host in these host aggregates (their uuids, in order) and in no other."""

    host: str
    aggregates: tuple[str, ...]


class NotShared(msgspec.Struct, frozen=True, tag="not-shared"):
    """Guard: no provider shares resources with the members of these aggregates (their uuids)."""

    aggregates: tuple[str, ...]


class NodeIs(msgspec.Struct, frozen=True, tag="compute-node"):
    """Guard: a cell still has this compute node, not deleted, on this host."""

    cell: str
    host: str
    node: str


class NodeGone(msgspec.Struct, frozen=True, tag="node-gone"):
    """Guard: no cell has a compute node with this uuid or name, and the host has no service.

    An empty `host`: a service does not matter. An empty `name`: a node of the same name does not
    matter, because the host may now have another compute node with this name.
    """

    node: str
    name: str
    cell: str
    host: str


class HostEmpty(msgspec.Struct, frozen=True, tag="host-empty"):
    """Guard: no cell has an instance on a host, or a migration under way from or to it."""

    host: str


class AgentsDown(msgspec.Struct, frozen=True, tag="agents-down"):
    """Guard: Neutron has no live network agent on a host."""

    host: str


class NoInstance(msgspec.Struct, frozen=True, tag="no-instance"):
    """Guard: no cell has an instance or a migration with this uuid; it has no build request."""

    uuid: str


PlaceGuard = (
    ServiceSetting | AggregatesOfHost | NotShared | NodeIs | NodeGone | HostEmpty | AgentsDown
)
Guard = (
    InstanceState
    | NoInstance
    | MigrationState
    | VersionIs
    | ServiceDown
    | CellFresh
    | DomainIs
    | PlaceGuard
)
