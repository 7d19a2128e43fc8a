# SPDX-License-Identifier: Apache-2.0
"""What a host has, and what nova.conf says about it: the inventory that nova-compute would report.

Where Placement's database is lost, an inventory is computed as Nova's libvirt driver does. The
reservations are in the nova.conf of each host only, so they are assumed, and the operator
is told which.
"""

from dataclasses import dataclass

from trueup.reconcile.facts import Inventory

_MIB_IN_GIB = 1024


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a row of `compute_nodes` says of a host. A ratio of None or 0.0 was never set."""

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
        """What is assumed of every host, as options with values."""
        return (
            f"reserved_host_cpus={self.reserved_host_cpus}, "
            f"reserved_host_memory_mb={self.reserved_host_memory_mb}, "
            f"reserved_host_disk_mb={self.reserved_host_disk_mb}, and where a host has no ratio of "
            f"its own {self.initial_cpu_allocation_ratio:g} for VCPU, "
            f"{self.initial_ram_allocation_ratio:g} for MEMORY_MB, "
            f"{self.initial_disk_allocation_ratio:g} for DISK_GB"
        )


def inventories_of(found: Hardware, defaults: HostDefaults) -> dict[str, Inventory]:
    """The inventories of a host; a class of which it has nothing has none."""
    disk_reserved = -(-defaults.reserved_host_disk_mb // _MIB_IN_GIB)
    rows = {
        "VCPU": (
            found.vcpus,
            defaults.reserved_host_cpus,
            found.cpu_ratio or defaults.initial_cpu_allocation_ratio,
        ),
        "MEMORY_MB": (
            found.memory_mb,
            defaults.reserved_host_memory_mb,
            found.ram_ratio or defaults.initial_ram_allocation_ratio,
        ),
        "DISK_GB": (
            found.disk_gb,
            disk_reserved,
            found.disk_ratio or defaults.initial_disk_allocation_ratio,
        ),
    }
    return {
        name: Inventory(total, reserved, ratio, max_unit=total)
        for name, (total, reserved, ratio) in rows.items()
        if total > 0
    }
