# SPDX-License-Identifier: Apache-2.0
"""Generates the blueprint of a lab cloud. The same options give exactly the same blueprint."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from trueup.lab.blueprint import (
    CELL_ZERO,
    Blueprint,
    Cell,
    Claim,
    Hardware,
    Host,
    HostAggregate,
    Instance,
    LifecycleState,
    Move,
    Tenant,
)
from trueup.lab.flavors import FLAVORS, POPULARITY, Flavor, next_larger

# There are two cells, and a move within a cell needs two hosts.
HOSTS_MIN = 4
INSTANCES_MIN = 20

_TENANTS = 6
_ROLES = ("web", "api", "worker", "cache", "queue", "build")
_VOLUME_BACKED_SHARE = 0.05
_OLDER = Hardware(vcpus=16, memory_mb=65536, disk_gb=1000)
_NEWER = Hardware(vcpus=24, memory_mb=98304, disk_gb=1500)
_CONTAINER = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}

# The share of existing instances in each of these states, at least one of each. One more instance
# is migrating, and all others are active.
_SHARES = {
    LifecycleState.STOPPED: 0.06,
    LifecycleState.RESIZED: 0.01,
    LifecycleState.SHELVED: 0.015,
    LifecycleState.SOFT_DELETED: 0.005,
}
# The number of further instances: being built, failed without a host, and deleted.
_OTHERS = {
    LifecycleState.BOOTING: 1,
    LifecycleState.FAILED: 2,
    LifecycleState.DELETED: 6,
    LifecycleState.ARCHIVED: 4,
}
_HOSTLESS = frozenset({LifecycleState.SHELVED, LifecycleState.BOOTING, LifecycleState.FAILED})
_DEAD = frozenset({LifecycleState.DELETED, LifecycleState.ARCHIVED})
# Moves that have ended: kind and final status. They hold nothing.
_HISTORY = (
    ("resize", "confirmed"),
    ("migration", "reverted"),
    ("live-migration", "completed"),
    ("live-migration", "error"),
    ("evacuation", "completed"),
)


class CloudTooFull(Exception):
    """The requested instances do not fit on the requested hosts."""

    def __init__(self, resources: dict[str, int]) -> None:
        super().__init__(f"no host has room for {resources}: ask for more hosts")
        self.resources = resources


@dataclass(frozen=True, slots=True)
class BlueprintOptions:
    """What determines a blueprint. `now` is in UTC without a zone."""

    seed: int
    hosts: int
    instances: int
    now: datetime

    def __post_init__(self) -> None:
        if self.hosts < HOSTS_MIN or self.instances < INSTANCES_MIN:
            raise ValueError(
                f"a lab cloud has at least {HOSTS_MIN} hosts and {INSTANCES_MIN} instances"
            )


def generate_blueprint(options: BlueprintOptions) -> Blueprint:
    """Return the whole blueprint. Raises `CloudTooFull` if the instances do not fit."""
    rng = Random(options.seed)
    cells = (
        CELL_ZERO,
        Cell(2, _uuid(rng), "cell1"),
        Cell(3, _uuid(rng), "cell2"),
    )
    hosts = tuple(_host(rng, index, options.hosts, cells) for index in range(options.hosts))
    free = _FreeCapacity(rng, hosts)
    tenants = tuple(_tenant(rng) for _ in range(_TENANTS))
    instances = tuple(
        _instance(options, free, tenants, (number, state))
        for number, state in enumerate(_states(rng, options.instances), start=1)
    )
    open_moves = _open_moves(options, free, instances)
    booting = [instance for instance in instances if instance.state is LifecycleState.BOOTING]
    return Blueprint(
        now=options.now,
        cells=cells,
        hosts=hosts,
        aggregates=_aggregates(rng, hosts),
        instances=instances,
        boots=tuple(
            Claim(
                instance.uuid,
                instance.tenant,
                free.claim(hosts, instance.resources()),
                instance.resources(),
            )
            for instance in booting
        ),
        open_moves=open_moves,
        past_moves=_past_moves(options, free, instances, len(open_moves)),
        containers=(
            Claim(_uuid(rng), _tenant(rng), free.claim(hosts, _CONTAINER), dict(_CONTAINER)),
        ),
    )


class _FreeCapacity:
    """How much is still free on each host while instances are being placed."""

    def __init__(self, rng: Random, hosts: Sequence[Host]) -> None:
        self.rng = rng
        self.hosts = tuple(hosts)
        self._free = {host.uuid: host.hardware.capacity() for host in hosts}

    def in_cell(self, cell: Cell | None) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.cell == cell)

    def claim(self, hosts: Sequence[Host], resources: dict[str, int]) -> Host:
        """Claim resources on a random one of these hosts with enough free capacity."""
        fitting = [host for host in hosts if self._fits(host, resources)]
        if not fitting:
            raise CloudTooFull(resources)
        host = self.rng.choice(fitting)
        free = self._free[host.uuid]
        for resource_class, amount in resources.items():
            free[resource_class] -= amount
        return host

    def _fits(self, host: Host, resources: dict[str, int]) -> bool:
        free = self._free[host.uuid]
        return all(amount <= free[name] for name, amount in resources.items())


def _uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _tenant(rng: Random) -> Tenant:
    return Tenant(f"{rng.getrandbits(128):032x}", f"{rng.getrandbits(128):032x}")


def _host(rng: Random, index: int, hosts: int, cells: Sequence[Cell]) -> Host:
    first_of_newer = (hosts + 1) // 2
    newer = index >= first_of_newer
    name = f"compute-{index + 1:02d}"
    return Host(
        number=index + 1 - (first_of_newer if newer else 0),
        uuid=_uuid(rng),
        service_uuid=_uuid(rng),
        name=name,
        # libvirt reports the full host name as the node; nova-compute uses the short one as host.
        node=f"{name}.lab.example",
        cell=cells[2 if newer else 1],
        hardware=_NEWER if newer else _OLDER,
    )


def _aggregates(rng: Random, hosts: Sequence[Host]) -> tuple[HostAggregate, ...]:
    return (
        HostAggregate(1, _uuid(rng), "ssd", tuple(hosts[::3])),
        HostAggregate(2, _uuid(rng), "rack-one", tuple(hosts[: len(hosts) // 4])),
    )


def _states(rng: Random, instances: int) -> list[LifecycleState]:
    """One state for each instance: existing ones in random order, then those of `_OTHERS`."""
    living = [LifecycleState.MIGRATING]
    for state, share in _SHARES.items():
        living += [state] * max(1, round(share * instances))
    living += [LifecycleState.ACTIVE] * (instances - len(living))
    rng.shuffle(living)
    others = [state for state, count in _OTHERS.items() for _ in range(count)]
    return living + others


def _instance(
    options: BlueprintOptions,
    free: _FreeCapacity,
    tenants: Sequence[Tenant],
    numbered: tuple[int, LifecycleState],
) -> Instance:
    number, state = numbered
    rng = free.rng
    flavor = rng.choices(FLAVORS, POPULARITY)[0]
    volume_backed = rng.random() < _VOLUME_BACKED_SHARE
    host = None
    if state in _DEAD:
        host = rng.choice(free.hosts)
    elif state not in _HOSTLESS:
        host = free.claim(free.hosts, flavor.resources(volume_backed=volume_backed))
    created_at, updated_at = _times(options, rng, state)
    return Instance(
        number=number,
        uuid=_uuid(rng),
        name=f"{rng.choice(_ROLES)}-{number:03d}",
        state=state,
        flavor=flavor,
        volume_backed=volume_backed,
        tenant=rng.choice(tenants),
        cell=_cell(free, state, host),
        host=host,
        created_at=created_at,
        updated_at=updated_at,
    )


def _times(
    options: BlueprintOptions, rng: Random, state: LifecycleState
) -> tuple[datetime, datetime]:
    """When the instance was created and when its row last changed."""
    if state is LifecycleState.BOOTING:
        return options.now - timedelta(seconds=15), options.now - timedelta(seconds=15)
    created_at = options.now - timedelta(minutes=rng.randrange(3 * 24 * 60, 300 * 24 * 60))
    if state is LifecycleState.MIGRATING:
        return created_at, options.now - timedelta(minutes=2)
    if state in (LifecycleState.ACTIVE, LifecycleState.FAILED):
        return created_at, created_at + timedelta(seconds=rng.randrange(20, 90))
    return created_at, options.now - timedelta(minutes=rng.randrange(3 * 60, 2 * 24 * 60))


def _cell(free: _FreeCapacity, state: LifecycleState, host: Host | None) -> Cell | None:
    """The cell of its row: None while it is being built, cell0 if no host was found."""
    if host is not None:
        return host.cell
    if state is LifecycleState.BOOTING:
        return None
    if state is LifecycleState.FAILED:
        return CELL_ZERO
    return free.rng.choice(free.hosts).cell


def _open_moves(
    options: BlueprintOptions, free: _FreeCapacity, instances: Sequence[Instance]
) -> tuple[Move, ...]:
    moving = [
        instance
        for instance in instances
        if instance.state in (LifecycleState.RESIZED, LifecycleState.MIGRATING)
    ]
    return tuple(
        _open_move(options, free, instance, number)
        for number, instance in enumerate(moving, start=1)
    )


def _open_move(
    options: BlueprintOptions, free: _FreeCapacity, instance: Instance, number: int
) -> Move:
    """A resize that waits for confirmation, or a live migration in progress."""
    resized = instance.state is LifecycleState.RESIZED
    old_flavor = _smaller(instance.flavor) if resized else instance.flavor
    held_elsewhere = old_flavor.resources(volume_backed=instance.volume_backed)
    others = [host for host in free.in_cell(instance.cell) if host != instance.host]
    other = free.claim(others, held_elsewhere)
    assert instance.host is not None
    # A resized instance is already on its target; a live-migrating one is still on its source.
    source, target = (other, instance.host) if resized else (instance.host, other)
    return Move(
        number=number,
        uuid=_uuid(free.rng),
        kind="resize" if resized else "live-migration",
        status="finished" if resized else "running",
        instance=instance,
        old_flavor=old_flavor,
        source=source,
        target=target,
        started_at=instance.updated_at - timedelta(seconds=40),
        updated_at=instance.updated_at if resized else options.now - timedelta(seconds=5),
    )


def _smaller(flavor: Flavor) -> Flavor:
    """The flavor that `next_larger` resizes to this one, or the largest if there is none."""
    return next(
        (candidate for candidate in FLAVORS if next_larger(candidate) == flavor), FLAVORS[-1]
    )


def _past_moves(
    options: BlueprintOptions, free: _FreeCapacity, instances: Sequence[Instance], already: int
) -> tuple[Move, ...]:
    active = [instance for instance in instances if instance.state is LifecycleState.ACTIVE]
    moved = free.rng.sample(active, len(_HISTORY))
    return tuple(
        _past_move(options, free, instance, (number, kind, status))
        for number, (instance, (kind, status)) in enumerate(
            zip(moved, _HISTORY, strict=True), start=already + 1
        )
    )


def _past_move(
    options: BlueprintOptions, free: _FreeCapacity, instance: Instance, ended: tuple[int, str, str]
) -> Move:
    number, kind, status = ended
    assert instance.host is not None
    others = [host for host in free.in_cell(instance.cell) if host != instance.host]
    other = free.rng.choice(others)
    stayed = status in ("reverted", "error")
    ended_at = options.now - timedelta(hours=free.rng.randrange(20, 60))
    return Move(
        number=number,
        uuid=_uuid(free.rng),
        kind=kind,
        status=status,
        instance=instance,
        old_flavor=instance.flavor,
        source=instance.host if stayed else other,
        target=other if stayed else instance.host,
        started_at=ended_at - timedelta(minutes=2),
        updated_at=ended_at,
    )
