# SPDX-License-Identifier: Apache-2.0
"""The NUMA cells of a host, and their free resources, as its nova-compute last reported."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryPages:
    """The pages of one size in a NUMA cell: how many there are, are used, and are reserved."""

    size_kb: int
    total: int
    used: int = 0
    reserved: int = 0

    @property
    def free(self) -> int:
        return self.total - self.used - self.reserved


@dataclass(frozen=True, slots=True)
class HostCell:
    """A NUMA cell of a host: the processors for shared and for dedicated CPUs, and its memory.

    `pinned` are the dedicated ones that are in use, `cpus_used` the number of shared ones. The
    processors of one core are `siblings`. `networks`: it is near to certain networks.
    """

    number: int
    shared: frozenset[int]
    dedicated: frozenset[int]
    memory_mb: int
    cpus_used: int = 0
    memory_used_mb: int = 0
    pinned: frozenset[int] = frozenset()
    pages: tuple[MemoryPages, ...] = ()
    siblings: tuple[frozenset[int], ...] = ()
    socket: int | None = None
    networks: bool = False

    @property
    def cores(self) -> tuple[frozenset[int], ...]:
        """The processors of each core."""
        return self.siblings or tuple(frozenset({cpu}) for cpu in sorted(self.dedicated))

    @property
    def free_dedicated(self) -> frozenset[int]:
        return self.dedicated - self.pinned


@dataclass(frozen=True, slots=True)
class HostTopology:
    """`compute_nodes.numa_topology`; `cells` is None if it cannot be understood."""

    cells: tuple[HostCell, ...] | None
