# SPDX-License-Identifier: Apache-2.0
"""Host inventory: what nova-compute would report, by a host's hardware and nova.conf.

Where Placement's database is lost, inventories are computed as Nova's libvirt driver does. Only the
nova.conf of each host has its reservations, so they are assumed, and the operator is told which.
"""

from trueup.reconcile.facts import Hardware, HostDefaults, Inventory

_MIB_IN_GIB = 1024


def inventories_of(found: Hardware, defaults: HostDefaults) -> dict[str, Inventory]:
    """The inventories of a host, without classes whose total is zero."""
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
