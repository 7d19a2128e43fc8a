# SPDX-License-Identifier: Apache-2.0
"""Whether the free PCI devices of a host suffice for a request. Pure.

PARITY: as `nova.pci.stats.PciDeviceStats.support_requests` decides.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trueup.reconcile.facts import HostCell, PciRequest

Pool = Mapping[str, Any]
# Not compared here: Placement's query asks for them.
_IGNORED = frozenset({"resource_class", "traits", "rp_uuids"})
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})


def devices_lack(
    requests: Iterable[PciRequest],
    pools: Sequence[Pool],
    near: frozenset[int] = frozenset(),
    cells: Sequence[HostCell] = (),
) -> str:
    """The first request that the free devices do not satisfy; empty if they satisfy all.

    `near` are the cells of the host, by number, that the server is to be in.
    """
    left = [dict(pool) for pool in sorted(pools, key=len)]
    for request in requests:
        usable = _usable(request, left, near, cells)
        free, count = sum(pool["count"] for pool in usable), request.count
        if free < count:
            where = f" near its cells {', '.join(map(str, sorted(near)))}" if near else ""
            return f"{free} free devices of {described(request)}{where}, {count} are needed"
        for pool in usable:
            taken = min(pool["count"], count)
            pool["count"], count = pool["count"] - taken, count - taken
        left = [pool for pool in left if pool["count"]]
    return ""


def described(request: PciRequest) -> str:
    """A request by its alias, or by what a port asks for."""
    if request.alias is not None:
        return request.alias
    words = (f"{key}={value}" for spec in request.specs for key, value in sorted(spec.items()))
    return f"a port ({', '.join(words)})"


def _usable(
    request: PciRequest, pools: Iterable[Pool], near: frozenset[int], cells: Sequence[HostCell]
) -> list[Any]:
    specs = [
        {key: value for key, value in spec.items() if key not in _IGNORED} for spec in request.specs
    ]
    found = [pool for pool in pools if any(_matches(pool, spec) for spec in specs)]
    found = _near(request, found, near, cells)
    # Devices of these kinds are only for requests that name the kind.
    for kind in ("type-PF", "vdpa"):
        if not any(spec.get("dev_type") == kind for spec in request.specs):
            found = [pool for pool in found if pool.get("dev_type") != kind]
    if not any(_is_true(spec.get("remote_managed")) for spec in request.specs):
        found = [pool for pool in found if not _is_true(pool.get("remote_managed"))]
    for word in ("true", "false"):
        if all(spec.get("live_migratable") == word for spec in request.specs):
            return [pool for pool in found if pool.get("live_migratable") == word]
    return found


def _near(
    request: PciRequest, pools: list[Pool], near: frozenset[int], cells: Sequence[HostCell]
) -> list[Pool]:
    """The pools that its NUMA policy lets it use; the strictest that suffices comes first."""
    if not near:
        return pools
    policy = request.numa_policy or "legacy"

    def within(numbers: Iterable[int | None]) -> list[Pool]:
        return [pool for pool in pools if pool.get("numa_node") in {*numbers}]

    def enough(found: list[Pool]) -> bool:
        return bool(sum(pool["count"] for pool in found) >= request.count)

    strict = within(near)
    if policy == "required" or enough(strict):
        return strict
    if policy == "socket":
        return within(_same_sockets(near, cells))
    legacy = within({*near, None})
    if policy == "legacy" or enough(legacy):
        return legacy
    return sorted(pools, key=lambda pool: pool.get("numa_node") not in {*near, None})


def _same_sockets(near: frozenset[int], cells: Sequence[HostCell]) -> set[int]:
    """The cells on the sockets of these; empty if a socket is not known."""
    if any(cell.socket is None for cell in cells):
        return set()
    sockets = {cell.socket for cell in cells if cell.number in near}
    return {cell.number for cell in cells if cell.socket in sockets}


def _matches(pool: Pool, spec: Mapping[str, str | None]) -> bool:
    return all(_folded(pool.get(key)) == _folded(value) for key, value in spec.items())


def _folded(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() in _TRUE
