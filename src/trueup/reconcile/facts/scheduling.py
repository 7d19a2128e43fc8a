# SPDX-License-Identifier: Apache-2.0
"""The inputs of Nova's scheduler: a request, hosts, and the options by which it decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trueup.reconcile.facts.hosts import ComputeService, HostAggregate
from trueup.reconcile.facts.instances import Flavor, NumaTopology, PciRequest
from trueup.reconcile.facts.numa import HostTopology
from trueup.reconcile.facts.ports import Port

# The filters that Nova enables by default.
DEFAULT_FILTERS = (
    "ComputeFilter",
    "ComputeCapabilitiesFilter",
    "ImagePropertiesFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
)


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """The server group of an instance; `hosts` are the hosts of its members."""

    uuid: str
    policy: str
    members: frozenset[str]
    max_per_host: int = 1
    hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A request to Nova's scheduler: a row of `request_specs`, with its server group.

    `image` are the properties of the image, as text. `ignored` hosts may not be chosen; one of the
    `forced_hosts` and `forced_nodes` must be. Only hosts in `cell` may be chosen. `unread`
    are filters whose input for this request is not known. `ports` are those that request something;
    None: it is not known what they request.
    """

    instance: str
    project: str
    flavor: Flavor
    image: Mapping[str, str] = field(default_factory=dict)
    image_id: str | None = None
    disk_format: str = ""
    volume_backed: bool = False
    zone: str | None = None
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    forced_hosts: tuple[str, ...] = ()
    forced_nodes: tuple[str, ...] = ()
    cell: str | None = None
    group: ServerGroup | None = None
    numa: NumaTopology | None = None
    devices: tuple[PciRequest, ...] = ()
    unread: frozenset[str] = frozenset()
    ports: tuple[Port, ...] | None = None


def named_instances(request: ScheduleRequest) -> frozenset[str]:
    """The instances whose hosts matter to this request."""
    members = request.group.members if request.group else frozenset[str]()
    hinted = (request.hints.get(name, ()) for name in ("different_host", "same_host"))
    return members.union({request.instance}, *hinted)


@dataclass(frozen=True, slots=True)
class SchedulerHost:
    """A compute node as the scheduler sees it.

    A flavor may ask for `attributes` by name; `supported` are (architecture, hypervisor, mode).
    `instances` are the instances on the host that are in the request's group or hints. `numa` and
    `pools` (of PCI devices) are read if the request needs them; `pools` is None if they cannot be.
    """

    uuid: str
    cell: str
    host: str
    node: str
    address: str = ""
    service: ComputeService | None = None
    made_at: datetime | None = None
    aggregates: tuple[HostAggregate, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    stats: Mapping[str, Any] = field(default_factory=dict)
    supported: tuple[tuple[str, ...], ...] = ()
    instances: frozenset[str] = frozenset()
    numa: HostTopology | None = None
    pools: tuple[Mapping[str, Any], ...] | None = ()


@dataclass(frozen=True, slots=True)
class SchedulerOptions:
    """Options of nova.conf, with Nova's own defaults."""

    enabled_filters: tuple[str, ...] = DEFAULT_FILTERS
    max_instances_per_host: int = 50
    max_io_ops_per_host: int = 8
    isolated_hosts: tuple[str, ...] = ()
    isolated_images: tuple[str, ...] = ()
    restrict_isolated_hosts_to_isolated_images: bool = True
    aggregate_image_properties_isolation_namespace: str = ""
    aggregate_image_properties_isolation_separator: str = "."
    image_properties_default_architecture: str = ""
    pci_in_placement: bool = False
    enable_isolated_aggregate_filtering: bool = False
    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    image_metadata_prefilter: bool = False
    query_placement_for_routed_network_aggregates: bool = False
    max_placement_results: int = 1000
    default_availability_zone: str = "nova"
    allow_resize_to_same_host: bool = False
    disable_fallback_pcpu_query: bool = False


@dataclass(frozen=True, slots=True)
class ScheduledServer:
    """A server that is to be scheduled: where it is, and its last fault."""

    uuid: str
    name: str
    cell: str
    host: str | None
    vm_state: str
    task_state: str = ""
    fault: str = ""
    fault_at: datetime | None = None
