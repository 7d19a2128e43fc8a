# SPDX-License-Identifier: Apache-2.0
"""Where servers could go if hosts are drained or fail: a proposal, in an order that works.

A server stays in its cell and its availability zone. It is placed as Nova would place it, on the
first host in the order of filling that has room while the servers before it have gone.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from trueup.capacity.asked import Asked, Gap, NotAskable, asked_of_each, gaps_of
from trueup.capacity.counting import Bind, Binding, By, ground, groups_of
from trueup.capacity.filling import Filling
from trueup.capacity.grouping import Groups
from trueup.capacity.places import Place, places
from trueup.reconcile.facts import Facts, Instance, grouped
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.bare_metal import is_bare_metal
from trueup.reconcile.scheduling.moves import STATES

# A live or a cold migration: Nova moves a server in these states off a host that is up.
_MOVED = frozenset({*STATES["live-migration"], *STATES["resize"]})
Home = tuple[str, str]
"""The cell and the zone that a server stays in."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where a server could go. `to` is None if nowhere: `binds` says what keeps it from how many
    hosts, or `reason` why it is not known what it needs. `gaps` may keep it from there.
    """

    server: Instance
    to: str | None = None
    binds: Mapping[Binding, int] | None = None
    reason: Reason | None = None
    gaps: frozenset[Gap] = frozenset()
    has_devices: bool = False

    @property
    def certain(self) -> bool:
        """Whether it has a place, and all that it needs there was checked."""
        return self.to is not None and not self.gaps and not self.has_devices


class Outcome(StrEnum):
    """What becomes of the servers of a failure; uncertain: not all that some need was checked."""

    ABSORBED = "absorbed"
    UNCERTAIN = "uncertain"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Failure:
    """Hosts of a group that fail together, and the moves of their servers within the group."""

    group: str
    hosts: tuple[str, ...]
    moves: tuple[Move, ...]

    @property
    def uncertain(self) -> int:
        """How many have a place where not all that they need was checked."""
        return sum(1 for move in self.moves if move.to is not None and not move.certain)

    @property
    def homeless(self) -> tuple[Move, ...]:
        return tuple(move for move in self.moves if move.to is None)

    @property
    def outcome(self) -> Outcome:
        if self.homeless:
            return Outcome.LOST
        return Outcome.UNCERTAIN if self.uncertain else Outcome.ABSORBED


def drained(facts: Facts, host: str) -> tuple[Move, ...]:
    """Where each server of a host could go, one after the other; what it held is then released."""
    servers = _servers(facts, [host])
    relocation = _Relocation(facts, servers)
    return relocation.moves(servers, {host}, released=True)


def relieved(facts: Facts) -> tuple[Move, ...]:
    """The servers to move off over-full hosts, until no host is over-full."""
    over = dict(_overfull(facts))
    every = _servers(facts, over)
    relocation = _Relocation(facts, every)
    found: list[Move] = []
    for server in every:
        excess, held = over[server.host or ""], facts.consumers.get(server.uuid, {})
        if not any(excess[uuid, n] > 0 and held.get(uuid, {}).get(n, 0) for uuid, n in excess):
            continue
        [move] = relocation.moves([server], over, released=True)
        found.append(move)
        if move.to is not None:
            for uuid, name in excess:
                excess[uuid, name] -= held.get(uuid, {}).get(name, 0)
    return tuple(found)


def survived(facts: Facts, number: int, by: By = By.CLOUD) -> tuple[Failure, ...]:
    """For each host of each group: it fails, with so many less one of those that hold the most.

    What the servers of a host that failed hold stays, as Nova keeps it until the host is back.
    """
    load = Counter[str]()
    for row in facts.alive.values():
        load[row.host or ""] += size_of(row)
    groups: dict[str, set[str]] = defaultdict(set)
    for place in places(facts):
        for name in groups_of(place, by):
            groups[name].add(place.host)
    every = frozenset(row.host for row in facts.compute_nodes)
    relocation = _Relocation(facts, [row for row in facts.alive.values() if row.host])
    found: list[Failure] = []
    for name, hosts in sorted(groups.items()):
        fullest = sorted(hosts, key=lambda host: (-load[host], host))
        elsewhere = every - hosts
        together = (
            (host, *islice((other for other in fullest if other != host), number - 1))
            for host in sorted(hosts)
        )
        for failing in dict.fromkeys(tuple(sorted(names)) for names in together):
            gone = elsewhere | {*failing}
            moves = relocation.moves(_servers(facts, failing), gone, released=False)
            found.append(Failure(name, failing, moves))
            relocation.take_back()
    return tuple(found)


def _servers(facts: Facts, hosts: Iterable[str]) -> list[Instance]:
    """The servers of these hosts, the largest first: they find room least easily."""
    by_host = facts.once(_by_host)
    rows = [row for host in hosts for row in by_host.get(host, ())]
    return sorted(rows, key=lambda row: (-size_of(row), row.name, row.uuid))


def _by_host(facts: Facts) -> Mapping[str, tuple[Instance, ...]]:
    return grouped((row.host, row) for row in facts.alive.values() if row.host)


def size_of(server: Instance) -> int:
    """Its memory: large servers find room least easily."""
    return server.flavor.memory_mb if server.flavor else 0


def may_have_devices(server: Instance, asked: Asked, facts: Facts) -> bool:
    """Whether a server may need more than it asks for: for its ports, or as PCI devices.

    Where Nova does not say whether its ports hold anything, what the server holds says it.
    """
    if server.pci_requests is None or server.pci_requests or server.ports_holding:
        return True
    held, needed = Counter[str](), Counter[str]()
    for row in facts.consumers.get(server.uuid, {}).values():
        held.update(row)
    for group in asked.request.groups:
        needed.update(dict(group.resources))
    return server.ports_hold and held != needed


def _overfull(facts: Facts) -> Iterator[tuple[str, dict[tuple[str, str], int]]]:
    """Each over-full host with its excess, by provider and class."""
    for node in sorted(facts.compute_nodes, key=lambda row: (row.host, row.node)):
        excess = {
            (row.uuid, name): used - row.inventories[name].capacity
            for row in facts.trees.get(node.uuid, ())
            for name, used in facts.used.get(row.uuid, {}).items()
            if name in row.inventories and used > row.inventories[name].capacity
        }
        if excess:
            yield node.host, excess


class _Relocation:
    """Hosts while servers are moved between them."""

    def __init__(self, facts: Facts, servers: Iterable[Instance]) -> None:
        self._asked = asked_of_each(servers, facts)
        kinds = [asked for asked in self._asked.values() if isinstance(asked, Asked)]
        self._ground = ground(facts, {kind.request for kind in kinds})
        self._filling = Filling(self._ground, kinds)
        self._groups = Groups(facts)
        self._homes = grouped(((host[0].cell, host[0].zone), host) for host in self._ground.hosts)
        self._open_hosts: dict[tuple[Asked, Home], Sequence[tuple[Place, int]]] = {}
        self._known_binds: dict[tuple[Asked, Home], Mapping[Binding, int]] = {}
        self._known_left: dict[Home, Sequence[tuple[Place, int]]] = {}

    def take_back(self) -> None:
        """Undo all moves so far, of servers that were not released."""
        self._filling.take_back()
        self._groups.take_back()

    def moves(
        self, servers: Sequence[Instance], gone: Collection[str], *, released: bool
    ) -> tuple[Move, ...]:
        """A place for each of these servers on hosts that are not gone.

        `released`: what a server held is free as soon as it has moved.
        """
        self._known_binds.clear()
        self._known_left.clear()
        return tuple(self._move(server, gone, released) for server in servers)

    def _home(self, server: Instance) -> Home:
        facts = self._ground.facts
        zones = facts.once(_zones)
        cell = facts.cells.get(server.cell, server.cell)
        return cell, zones.get(server.host or "", "")

    def _open(self, asked: Asked, home: Home) -> Sequence[tuple[Place, int]]:
        """The hosts of a home that had room for such a server before any was moved.

        PERF: of thousands of hosts a full cloud leaves few to ask, each time a server has to go.
        """
        if (asked, home) not in self._open_hosts:
            self._open_hosts[asked, home] = [
                pair for pair in self._homes.get(home, ()) if self._filling.had_room(asked, pair[1])
            ]
        return self._open_hosts[asked, home]

    def _left(self, home: Home, gone: Collection[str]) -> Sequence[tuple[Place, int]]:
        """The hosts of a home that are not gone."""
        if home not in self._known_left:
            self._known_left[home] = [
                pair for pair in self._homes.get(home, ()) if pair[0].host not in gone
            ]
        return self._known_left[home]

    def _binds(self, asked: Asked, home: Home, gone: Collection[str]) -> Mapping[Binding, int]:
        """What keeps such a server from the hosts of a home.

        PERF: it is the same for the next such server, if none was moved in between.
        """
        if (asked, home) not in self._known_binds:
            self._known_binds[asked, home] = self._filling.binds(asked, self._left(home, gone))
        return self._known_binds[asked, home]

    def _binds_of(
        self, server: Instance, asked: Asked, home: Home, gone: Collection[str]
    ) -> Mapping[Binding, int]:
        """What keeps this server from the hosts of its home, its group first."""
        group = self._groups.group_of(server)
        if group is None:
            return self._binds(asked, home, gone)
        left = self._left(home, gone)
        open_to = [*self._allowed(server, left, gone)]
        binds = self._filling.binds(asked, open_to) if open_to else Counter[Binding]()
        binds[Bind.SERVER_GROUP, group.policy] = len(left) - len(open_to)
        return +binds

    def _allowed(
        self, server: Instance, hosts: Iterable[tuple[Place, int]], gone: Collection[str]
    ) -> Iterable[tuple[Place, int]]:
        """Those of these hosts that the group of a server leaves it."""
        if self._groups.group_of(server) is None:
            return hosts
        if self._groups.nowhere(server, gone):
            return ()
        allowed = self._groups.allowed(server)
        return (pair for pair in hosts if allowed(pair[0].host))

    def _move(self, server: Instance, gone: Collection[str], released: bool) -> Move:
        asked = self._asked[server.uuid]
        # PARITY: Ironic's driver neither migrates a server nor evacuates it.
        if is_bare_metal(server, self._ground.facts):
            return Move(server, reason=because("bare-metal-stays"))
        if released and server.vm_state not in _MOVED:
            return Move(server, reason=because("state-stays", state=server.vm_state or "?"))
        if isinstance(asked, NotAskable):
            return Move(server, reason=asked.reason)
        home = self._home(server)
        hosts = (pair for pair in self._open(asked, home) if pair[0].host not in gone)
        place = self._filling.on_first(asked, self._allowed(server, hosts, gone))
        if place is None:
            return Move(server, binds=self._binds_of(server, asked, home, gone))
        self._known_binds.clear()
        self._groups.move(server, place.host)
        if released:
            self._filling.release(server.uuid)
        facts = self._ground.facts
        devices = may_have_devices(server, asked, facts)
        return Move(server, place.host, gaps=gaps_of(asked, facts), has_devices=devices)


def _zones(facts: Facts) -> dict[str, str]:
    return {place.host: place.zone for place in places(facts)}
