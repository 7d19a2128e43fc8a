# SPDX-License-Identifier: Apache-2.0
"""Hosts, flavors and providers of the simulated cloud, and what Nova claims for a server.

The arithmetic follows Nova's rules (nova.scheduler.utils.ResourceRequest), not our own code:
DISK_GB is the root disk unless that is a volume, plus the ephemeral disk, plus the swap disk in
whole GiB; dedicated processors are PCPU; hosts that share a pool claim their disk from the pool.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.simulator.rows import AggregateRow, Amounts, FlavorRow, PortRow, ProviderRow, uuid_of

CELL_ZERO = "cell0"
CELLS = (CELL_ZERO, "cell1", "cell2")
BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"


@dataclass(frozen=True, slots=True)
class Host:
    """A compute host. Its node has the same name; its network card is a child provider."""

    name: str
    cell: str
    pool: str | None = None

    @property
    def root(self) -> str:
        return uuid_of(self.name)

    @property
    def card(self) -> str:
        return uuid_of(f"{self.name}-card")

    @property
    def tree(self) -> tuple[str, str]:
        return self.root, self.card

    @property
    def disk(self) -> str:
        """The provider of its disk: the host itself, or the pool that it shares."""
        return uuid_of(self.pool) if self.pool else self.root


HOSTS = {
    host.name: host
    for host in (
        Host("h1", "cell1"),
        Host("h2", "cell1"),
        Host("h3", "cell1"),
        Host("h4", "cell2", pool="pool"),
        Host("h5", "cell2", pool="pool"),
    )
}
POOL = uuid_of("pool")

FLAVORS = {
    flavor.name: flavor
    for flavor in (
        FlavorRow("small", 1, 512, 10),
        FlavorRow("large", 4, 4096, 40),
        FlavorRow("swapping", 2, 1024, 4, ephemeral_gb=1, swap_mb=512),
        FlavorRow("pinned", 2, 2048, 10, dedicated=True),
    )
}

# Bare metal: nodes of cell1, which the nova-computes on two controllers share among them.
METAL = FlavorRow("metal", 16, 65536, 400, metal=True)
METAL_CLASS = "CUSTOM_METAL"
METAL_NODES = {name: uuid_of(name) for name in ("metal1", "metal2", "metal3")}
CONDUCTORS = ("ctl1", "ctl2")
METAL_CELL = "cell1"


_HUGE = 1_000_000
SHARES = "MISC_SHARES_VIA_AGGREGATE"
SHARERS = uuid_of("those who share the pool")
RACK = AggregateRow(uuid_of("rack"), "rack", frozenset({"h1", "h2"}))


def providers() -> dict[str, ProviderRow]:
    """The providers of a healthy cloud by uuid, each parent before its children."""
    rows = [
        ProviderRow(
            POOL, "pool", {"DISK_GB": _HUGE}, traits=frozenset({SHARES}),
            aggregates=frozenset({SHARERS}),
        )
    ]  # fmt: skip
    for host in HOSTS.values():
        classes = ["VCPU", "MEMORY_MB", *(["PCPU"] if host.cell == "cell1" else [])]
        classes += [] if host.pool else ["DISK_GB"]
        member = {SHARERS} if host.pool else set()
        member |= {RACK.uuid} if host.name in RACK.hosts else set()
        rows += [
            ProviderRow(
                host.root, host.name, dict.fromkeys(classes, _HUGE),
                traits=frozenset({"OWNER_NOVA"}), aggregates=frozenset(member),
            ),
            ProviderRow(host.card, f"{host.name}-card", {BANDWIDTH: _HUGE}, host.root),
        ]  # fmt: skip
    rows += [
        ProviderRow(uuid, uuid, {METAL_CLASS: 1}, traits=frozenset({"OWNER_NOVA"}))
        for uuid in METAL_NODES.values()
    ]
    return {row.uuid: row for row in rows}


def claimed_on(
    host: Host, flavor: FlavorRow, volume_backed: bool = False, ports: Iterable[PortRow] = ()
) -> dict[str, dict[str, int]]:
    """What Nova claims on this host for a server of this flavor with these ports."""
    amounts: dict[str, dict[str, int]] = {
        host.root: {
            "PCPU" if flavor.dedicated else "VCPU": flavor.vcpus,
            "MEMORY_MB": flavor.memory_mb,
        }
    }
    disk = flavor.ephemeral_gb + -(-flavor.swap_mb // 1024)
    disk += 0 if volume_backed else flavor.root_gb
    if disk:
        amounts.setdefault(host.disk, {})["DISK_GB"] = disk
    kilobits = sum(port.kilobits for port in ports)
    if kilobits:
        amounts[host.card] = {BANDWIDTH: kilobits}
    return amounts


def both(first: Amounts, second: Amounts) -> Amounts:
    """Both claims of an evacuation together (nova.scheduler.client.report).

    Of a provider that both name, such as a pool, the first amounts are kept.
    """
    return {**second, **first}


def without(amounts: Amounts, providers: Iterable[str]) -> Amounts:
    left_out = set(providers)
    return {uuid: held for uuid, held in amounts.items() if uuid not in left_out}
