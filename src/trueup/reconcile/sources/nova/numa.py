# SPDX-License-Identifier: Apache-2.0
"""`compute_nodes.numa_topology` → facts: the NUMA cells of a host, with their usage."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from trueup.reconcile.facts import HostCell, HostTopology, MemoryPages
from trueup.reconcile.sources.database import Row
from trueup.reconcile.sources.reading import Reader

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError)


def host_topology(reader: Reader, row: Row) -> HostTopology | None:
    """The NUMA cells of a compute node; None if its host reports no cells, as other drivers do."""
    if not row.numa_topology:
        return None
    document = reader.document(row, "numa_topology")
    if document is None:
        return HostTopology(None)
    try:
        cells = document["nova_object.data"]["cells"]
        return HostTopology(tuple(_cell(cell["nova_object.data"]) for cell in cells))
    except _UNREADABLE as error:
        reader.note(row, "numa_topology", f"not a NUMA topology: {error}")
        return HostTopology(None)


def _cell(fields: Mapping[str, Any]) -> HostCell:
    shared = frozenset(map(int, fields["cpuset"]))
    return HostCell(
        number=int(fields["id"]),
        shared=shared,
        # PARITY: up to Stein (version 1.3 of the object) the same processors were for both.
        dedicated=frozenset(map(int, fields.get("pcpuset", shared))),
        memory_mb=int(fields["memory"]),
        cpus_used=int(fields["cpu_usage"]),
        memory_used_mb=int(fields["memory_usage"]),
        pinned=frozenset(map(int, fields["pinned_cpus"])),
        pages=tuple(_pages(entry["nova_object.data"]) for entry in fields.get("mempages") or ()),
        siblings=_siblings(tuple(map(tuple, fields.get("siblings") or ()))),
        socket=fields.get("socket"),
        networks=_has_networks((fields.get("network_metadata") or {}).get("nova_object.data", {})),
    )


# PERF: hosts with the same hardware share one value.
@lru_cache(maxsize=1000)
def _siblings(cores: tuple[tuple[int, ...], ...]) -> tuple[frozenset[int], ...]:
    return tuple(map(frozenset, cores))


def _has_networks(fields: Mapping[str, Any]) -> bool:
    return bool(fields.get("physnets") or fields.get("tunneled"))


def _pages(fields: Mapping[str, Any]) -> MemoryPages:
    return MemoryPages(
        size_kb=int(fields["size_kb"]),
        total=int(fields["total"]),
        used=int(fields["used"]),
        reserved=int(fields.get("reserved") or 0),
    )
