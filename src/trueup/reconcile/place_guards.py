# SPDX-License-Identifier: Apache-2.0
"""Guards of hosts and providers, as frozen values that a plan holds; `guards` reads them again."""

import msgspec


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
    """Guard: no provider shares what it has with the members of these aggregates (their uuids)."""

    aggregates: tuple[str, ...]


class NodeIs(msgspec.Struct, frozen=True, tag="compute-node"):
    """Guard: a cell still has this compute node, not deleted, on this host."""

    cell: str
    host: str
    node: str


class NodeGone(msgspec.Struct, frozen=True, tag="node-gone"):
    """Guard: no cell has a compute node with this uuid or name, and the host has no service.

    An empty `host`: whether the host has a service does not matter. An empty `name`: neither does a
    namesake, as where the host has another compute node now, which may have the same name.
    """

    node: str
    name: str
    cell: str
    host: str


class HostEmpty(msgspec.Struct, frozen=True, tag="host-empty"):
    """Guard: no cell has an instance on a host, or a migration under way from or to it."""

    host: str


class AgentsDown(msgspec.Struct, frozen=True, tag="agents-down"):
    """Guard: Neutron has no network agent on a host that is alive."""

    host: str


PlaceGuard = (
    ServiceSetting | AggregatesOfHost | NotShared | NodeIs | NodeGone | HostEmpty | AgentsDown
)
