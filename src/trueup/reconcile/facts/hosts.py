# SPDX-License-Identifier: Apache-2.0
"""What Nova says of hosts: compute nodes, services, mappings, aggregates and PCI devices."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from unicodedata import combining, normalize

from trueup.reconcile.facts.numa import HostTopology

# Nova's default `service_down_time`: a service that has not reported for longer is down.
SERVICE_DOWN_AFTER = timedelta(seconds=60)


def as_compared(name: str) -> str:
    """A name as databases on MySQL compare it: without case, accents, and spaces at its end."""
    if not name.isascii():
        name = "".join(char for char in normalize("NFD", name) if not combining(char))
    return name.rstrip(" ").casefold()


_OF_OTHER_DRIVERS = frozenset({"ironic", "vmware vcenter server", "hyperv", "zvm", "powervm"})


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """A row of a cell's `compute_nodes`; `uuid` is its provider's uuid.

    `number` is the id of the row, which `pci_devices` refer to. `hypervisor` is its type (`QEMU`),
    `address` its `host_ip`. `created_at` is None where the source does not give it. `numa` is also
    None where the host reports no NUMA cells.
    """

    uuid: str
    cell: str
    host: str
    node: str
    number: int = 0
    hypervisor: str = ""
    deleted: bool = False
    updated_at: datetime | None = None
    created_at: datetime | None = None
    address: str = ""
    numa: HostTopology | None = None

    @property
    def is_of_libvirt(self) -> bool:
        """Whether its guests may be domains of libvirt on its host.

        The types are those of Nova's other drivers. On a controller, nova-compute for bare metal
        runs beside a libvirt that has none of its instances.
        """
        return self.hypervisor.casefold() not in _OF_OTHER_DRIVERS


@dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute service; `version` is Nova's service version, 0 where it is not known.

    `state` is `up` or `down` as Nova's API computes it from its own clock and service_down_time;
    None where the databases were read. `down_after` is Nova's `service_down_time`.
    """

    cell: str
    host: str
    forced_down: bool
    last_seen: datetime | None
    uuid: str = ""
    disabled: bool = False
    disabled_reason: str = ""
    version: int = 0
    deleted: bool = False
    state: str | None = None
    down_after: timedelta = SERVICE_DOWN_AFTER

    def is_up(self, now: datetime) -> bool:
        """Whether Nova considers it up. Nova's API says so itself, without our clock."""
        if self.state is not None:
            return self.state == "up" and not self.forced_down
        return not self.forced_down and self.reports(now)

    def reports(self, now: datetime) -> bool:
        """Whether it has reported lately, even if it is forced down."""
        return self.last_seen is not None and now - self.last_seen <= self.down_after


@dataclass(frozen=True, slots=True)
class HostMapping:
    """A row of `host_mappings`; `cell` is a cell's uuid."""

    host: str
    cell: str


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """A host aggregate; `uuid` is that of its aggregate in Placement, or text that is no UUID."""

    uuid: str
    name: str
    hosts: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PciDevice:
    """A row of `pci_devices` that is not deleted. `compute_node` is `ComputeNode.number`.

    `kind` is `type-PCI`, `type-PF` or `type-VF`. `parent_interface` is the network interface of its
    physical function, if Nova stores one. `provider` is the uuid of the provider from which it is
    allocated, if its devices are in Placement.
    """

    cell: str
    compute_node: int
    address: str
    vendor: str
    product: str
    kind: str
    status: str
    instance: str | None = None
    request_id: str | None = None
    numa_node: int | None = None
    parent_address: str | None = None
    parent_interface: str | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """A host's hardware in `compute_nodes`. A ratio of None or 0.0 was never set."""

    vcpus: int
    memory_mb: int
    disk_gb: int
    cpu_ratio: float | None
    ram_ratio: float | None
    disk_ratio: float | None


@dataclass(frozen=True, slots=True)
class HostDefaults:
    """Options of nova.conf, with Nova's own defaults."""

    reserved_host_cpus: int = 0
    reserved_host_memory_mb: int = 512
    reserved_host_disk_mb: int = 0
    initial_cpu_allocation_ratio: float = 4.0
    initial_ram_allocation_ratio: float = 1.0
    initial_disk_allocation_ratio: float = 1.0

    @property
    def words(self) -> str:
        """The assumptions about every host, as options with values."""
        return (
            f"reserved_host_cpus={self.reserved_host_cpus}, "
            f"reserved_host_memory_mb={self.reserved_host_memory_mb}, "
            f"reserved_host_disk_mb={self.reserved_host_disk_mb}, and where a host has no ratio of "
            f"its own {self.initial_cpu_allocation_ratio:g} for VCPU, "
            f"{self.initial_ram_allocation_ratio:g} for MEMORY_MB, "
            f"{self.initial_disk_allocation_ratio:g} for DISK_GB"
        )
