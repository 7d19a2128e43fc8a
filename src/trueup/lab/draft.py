# SPDX-License-Identifier: Apache-2.0
"""Decides a lab cloud: the same shape gives the same blueprint, to the last uuid."""

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
    Move,
    Standing,
    Tenant,
)
from trueup.lab.flavors import FLAVORS, POPULARITY, Flavor, next_larger

# Two cells, and in each a move needs two hosts.
HOSTS_MIN = 4
INSTANCES_MIN = 20

_TENANTS = 6
_ROLES = ("web", "api", "worker", "cache", "queue", "build")
_VOLUME_BACKED_SHARE = 0.05
_OLDER = Hardware(vcpus=16, memory_mb=65536, disk_gb=1000)
_NEWER = Hardware(vcpus=24, memory_mb=98304, disk_gb=1500)
_CONTAINER = {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}

# Of the living instances, the share that is not simply running; at least one of each.
_SHARES = {
    Standing.STOPPED: 0.06,
    Standing.RESIZED: 0.01,
    Standing.SHELVED: 0.015,
    Standing.SOFT_DELETED: 0.005,
}
# Beside the living instances: a boot under way, boots that found no host, and the dead.
_OTHERS = {
    Standing.BOOTING: 1,
    Standing.FAILED: 2,
    Standing.DELETED: 6,
    Standing.ARCHIVED: 4,
}
_HOSTLESS = frozenset({Standing.SHELVED, Standing.BOOTING, Standing.FAILED})
_DEAD = frozenset({Standing.DELETED, Standing.ARCHIVED})
# The moves of the past: kind and how it ended. None of them holds anything any more.
_HISTORY = (
    ("resize", "confirmed"),
    ("migration", "reverted"),
    ("live-migration", "completed"),
    ("live-migration", "error"),
    ("evacuation", "completed"),
)


class CloudTooFull(Exception):
    """The instances asked for do not fit on the hosts asked for."""

    def __init__(self, resources: dict[str, int]) -> None:
        super().__init__(f"no host has room for {resources}: ask for more hosts")
        self.resources = resources


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a cloud, at which moment (UTC, without a zone), and which of all such clouds."""

    seed: int
    hosts: int
    instances: int
    now: datetime

    def __post_init__(self) -> None:
        if self.hosts < HOSTS_MIN or self.instances < INSTANCES_MIN:
            raise ValueError(
                f"a lab cloud has at least {HOSTS_MIN} hosts and {INSTANCES_MIN} instances"
            )


def draft(shape: Shape) -> Blueprint:
    """Decide everything in the cloud; raises `CloudTooFull` when it does not fit."""
    rng = Random(shape.seed)
    cells = (
        CELL_ZERO,
        Cell(2, _uuid(rng), "cell1"),
        Cell(3, _uuid(rng), "cell2"),
    )
    hosts = tuple(_host(rng, index, shape.hosts, cells) for index in range(shape.hosts))
    room = _Room(rng, hosts)
    tenants = tuple(_tenant(rng) for _ in range(_TENANTS))
    instances = tuple(
        _instance(shape, room, tenants, (number, standing))
        for number, standing in enumerate(_standings(rng, shape.instances), start=1)
    )
    open_moves = _open_moves(shape, room, instances)
    booting = [one for one in instances if one.standing is Standing.BOOTING]
    return Blueprint(
        now=shape.now,
        cells=cells,
        hosts=hosts,
        aggregates=_aggregates(rng, hosts),
        instances=instances,
        boots=tuple(
            Claim(one.uuid, one.tenant, room.take(hosts, one.resources()), one.resources())
            for one in booting
        ),
        open_moves=open_moves,
        past_moves=_past_moves(shape, room, instances, len(open_moves)),
        containers=(
            Claim(_uuid(rng), _tenant(rng), room.take(hosts, _CONTAINER), dict(_CONTAINER)),
        ),
    )


class _Room:
    """What is still free on each host while instances are being placed."""

    def __init__(self, rng: Random, hosts: Sequence[Host]) -> None:
        self.rng = rng
        self.hosts = tuple(hosts)
        self._free = {host.uuid: host.hardware.capacity() for host in hosts}

    def in_cell(self, cell: Cell | None) -> tuple[Host, ...]:
        return tuple(host for host in self.hosts if host.cell == cell)

    def take(self, hosts: Sequence[Host], resources: dict[str, int]) -> Host:
        """Claim on one of these hosts, drawn by lot among those with room."""
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
        # libvirt calls the node by its full name while nova-compute goes by the short one.
        node=f"{name}.lab.example",
        cell=cells[2 if newer else 1],
        hardware=_NEWER if newer else _OLDER,
    )


def _aggregates(rng: Random, hosts: Sequence[Host]) -> tuple[HostAggregate, ...]:
    return (
        HostAggregate(1, _uuid(rng), "ssd", tuple(hosts[::3])),
        HostAggregate(2, _uuid(rng), "rack-one", tuple(hosts[: len(hosts) // 4])),
    )


def _standings(rng: Random, instances: int) -> list[Standing]:
    """One for each instance; the others follow the living."""
    living = [Standing.MIGRATING]
    for standing, share in _SHARES.items():
        living += [standing] * max(1, round(share * instances))
    living += [Standing.ACTIVE] * (instances - len(living))
    rng.shuffle(living)
    others = [standing for standing, count in _OTHERS.items() for _ in range(count)]
    return living + others


def _instance(
    shape: Shape, room: _Room, tenants: Sequence[Tenant], numbered: tuple[int, Standing]
) -> Instance:
    number, standing = numbered
    rng = room.rng
    flavor = rng.choices(FLAVORS, POPULARITY)[0]
    volume_backed = rng.random() < _VOLUME_BACKED_SHARE
    host = None
    if standing in _DEAD:
        host = rng.choice(room.hosts)
    elif standing not in _HOSTLESS:
        host = room.take(room.hosts, flavor.resources(volume_backed=volume_backed))
    created_at, updated_at = _times(shape, rng, standing)
    return Instance(
        number=number,
        uuid=_uuid(rng),
        name=f"{rng.choice(_ROLES)}-{number:03d}",
        standing=standing,
        flavor=flavor,
        volume_backed=volume_backed,
        tenant=rng.choice(tenants),
        cell=_cell(room, standing, host),
        host=host,
        created_at=created_at,
        updated_at=updated_at,
    )


def _times(shape: Shape, rng: Random, standing: Standing) -> tuple[datetime, datetime]:
    """When the instance was made and when its row last changed."""
    if standing is Standing.BOOTING:
        return shape.now - timedelta(seconds=15), shape.now - timedelta(seconds=15)
    created_at = shape.now - timedelta(minutes=rng.randrange(3 * 24 * 60, 300 * 24 * 60))
    if standing is Standing.MIGRATING:
        return created_at, shape.now - timedelta(minutes=2)
    if standing in (Standing.ACTIVE, Standing.FAILED):
        return created_at, created_at + timedelta(seconds=rng.randrange(20, 90))
    return created_at, shape.now - timedelta(minutes=rng.randrange(3 * 60, 2 * 24 * 60))


def _cell(room: _Room, standing: Standing, host: Host | None) -> Cell | None:
    """Where the row lives: nowhere while it boots, in cell0 when it never found a host."""
    if host is not None:
        return host.cell
    if standing is Standing.BOOTING:
        return None
    if standing is Standing.FAILED:
        return CELL_ZERO
    return room.rng.choice(room.hosts).cell


def _open_moves(shape: Shape, room: _Room, instances: Sequence[Instance]) -> tuple[Move, ...]:
    moving = [one for one in instances if one.standing in (Standing.RESIZED, Standing.MIGRATING)]
    return tuple(
        _open_move(shape, room, instance, number) for number, instance in enumerate(moving, start=1)
    )


def _open_move(shape: Shape, room: _Room, instance: Instance, number: int) -> Move:
    """A resize that waits for its confirmation, or a live migration under way."""
    resized = instance.standing is Standing.RESIZED
    old_flavor = _smaller(instance.flavor) if resized else instance.flavor
    held_elsewhere = old_flavor.resources(volume_backed=instance.volume_backed)
    others = [host for host in room.in_cell(instance.cell) if host != instance.host]
    other = room.take(others, held_elsewhere)
    assert instance.host is not None
    # A resized instance is on its target already; one that migrates live is on its source.
    source, target = (other, instance.host) if resized else (instance.host, other)
    return Move(
        number=number,
        uuid=_uuid(room.rng),
        kind="resize" if resized else "live-migration",
        status="finished" if resized else "running",
        instance=instance,
        old_flavor=old_flavor,
        source=source,
        target=target,
        started_at=instance.updated_at - timedelta(seconds=40),
        updated_at=instance.updated_at if resized else shape.now - timedelta(seconds=5),
    )


def _smaller(flavor: Flavor) -> Flavor:
    """The flavor whose resize leads to this one, or any other one."""
    return next((one for one in FLAVORS if next_larger(one) == flavor), FLAVORS[-1])


def _past_moves(
    shape: Shape, room: _Room, instances: Sequence[Instance], already: int
) -> tuple[Move, ...]:
    active = [one for one in instances if one.standing is Standing.ACTIVE]
    moved = room.rng.sample(active, len(_HISTORY))
    return tuple(
        _past_move(shape, room, instance, (number, kind, status))
        for number, (instance, (kind, status)) in enumerate(
            zip(moved, _HISTORY, strict=True), start=already + 1
        )
    )


def _past_move(shape: Shape, room: _Room, instance: Instance, ended: tuple[int, str, str]) -> Move:
    number, kind, status = ended
    assert instance.host is not None
    others = [host for host in room.in_cell(instance.cell) if host != instance.host]
    other = room.rng.choice(others)
    stayed = status in ("reverted", "error")
    ended_at = shape.now - timedelta(hours=room.rng.randrange(20, 60))
    return Move(
        number=number,
        uuid=_uuid(room.rng),
        kind=kind,
        status=status,
        instance=instance,
        old_flavor=instance.flavor,
        source=instance.host if stayed else other,
        target=other if stayed else instance.host,
        started_at=ended_at - timedelta(minutes=2),
        updated_at=ended_at,
    )
