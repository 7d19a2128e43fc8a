# SPDX-License-Identifier: Apache-2.0
"""What is free and yet of no use, and the moves that would make room of it: a proposal.

Hosts that lack least for one more server are looked at first. Of each, the servers are found that
would have to go, and hosts for them where they take no room from the flavor.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from trueup.capacity.asked import Asked, Gap, asked_of_each, gaps_of
from trueup.capacity.counting import By, Ground, Row, fill, ground, groups_of
from trueup.capacity.filling import Filling
from trueup.capacity.grouping import AFFINITY, Groups
from trueup.capacity.ledger import view_of
from trueup.capacity.places import Place, in_order, places
from trueup.capacity.relocation import Move, may_have_devices, size_of
from trueup.capacity.room import Claim, Room, claims_of
from trueup.placement.index.view.columns import View
from trueup.reconcile.facts import Amounts, Facts, Instance, grouped
from trueup.reconcile.rules.bare_metal import is_bare_metal

MOVES_MAX = 10
# PERF: so many hosts, of those that lack least; a cloud has enough of them.
_HOSTS_MAX = 200


@dataclass(frozen=True, slots=True)
class Gain:
    """A move, and how many servers of the flavor fit after it and those before it."""

    move: Move
    fits: int


@dataclass(frozen=True, slots=True)
class Gains:
    """The moves in an order that works, and how many servers fit without them."""

    fits: int
    moves: tuple[Gain, ...]


def free_in(facts: Facts, by: By) -> Mapping[str, Mapping[str, int]]:
    """By group of hosts and by class: what nobody holds, on whatever host and in its pools."""
    groups = defaultdict[str, set[str]](set)
    for place in places(facts):
        for name in groups_of(place, by):
            groups[name].add(place.provider)
    found: dict[str, Counter[str]] = {}
    for name, roots in groups.items():
        trees = [row for root in sorted(roots) for row in facts.trees.get(root, ())]
        pools = [pool for pool in facts.sharing if pool.shares_with & roots]
        free = found.setdefault(name, Counter())
        for row in {row.uuid: row for row in (*trees, *pools)}.values():
            used = facts.used.get(row.uuid, {})
            for name_of, stock in row.inventories.items():
                free[name_of] += max(stock.capacity - used.get(name_of, 0), 0)
    return found


def unusable(row: Row, free: Mapping[str, Mapping[str, int]]) -> Mapping[str, tuple[int, int]]:
    """By class that a kind of server asks for: what is free in its group, and of that for nothing.

    For nothing is what stays free when as many are made as fit.
    """
    of_group = free.get(row.group, {})
    return {
        name: (of_group.get(name, 0), max(of_group.get(name, 0) - row.now.fits * amount, 0))
        for name, amount in amounts_of(row.asked).items()
    }


def gains(facts: Facts, asked: Asked) -> Gains:
    """The moves, at most ten, that give most room to this kind of server.

    How many fit is counted anew after each move; moves at the end that give nothing are left out.
    """
    view, found, after = view_of(facts, [asked.request]), list[Gain](), facts
    every = places(facts)
    # PERF: a move changes a place only if an aggregate limits its servers.
    limited = any(place.servers_max is not None for place in every)
    fits = _fits(Ground(facts, view, in_order(every, view)), asked)
    for move, held in _Moves(facts, asked).chosen():
        view = _view_after(view, facts.consumers[move.server.uuid], held)
        after = _after(after, move, held)
        hosts = in_order(places(after) if limited else every, view)
        found.append(Gain(move, _fits(Ground(after, view, hosts), asked)))
    while found and found[-1].fits <= (found[-2].fits if len(found) > 1 else fits):
        found.pop()
    return Gains(fits, tuple(found))


def _fits(ground: Ground, asked: Asked) -> int:
    return sum(filled.count for filled in fill(asked, ground))


def _view_after(view: View, before: Amounts, held: Amounts) -> View:
    """The view after a server holds something else. PERF: a new one would take a second."""
    room = Room(view)
    room.release(tuple(claims_of(before, view)))
    room.take(tuple(claims_of(held, view)))
    return room.view


def _after(facts: Facts, move: Move, held: Amounts) -> Facts:
    """The facts after a move."""
    uuid, host = move.server.uuid, move.to
    rows = (replace(row, host=host) if row.uuid == uuid else row for row in facts.instances)
    return replace(facts, instances=tuple(rows), consumers={**facts.consumers, uuid: held})


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Servers of a host, and how many of the flavor would fit in their place."""

    servers: tuple[Instance, ...]
    gain: int


class _Moves:
    """Hosts while servers are moved between them to make room for one kind of server."""

    def __init__(self, facts: Facts, asked: Asked) -> None:
        self._asked = asked
        hosts = ground(facts, ()).hosts
        having = {(row.host, row.node) for row in facts.alive.values()}
        sources = [place for place, _ in hosts if (place.host, place.node) in having]
        sources.sort(key=lambda place: _lacking(amounts_of(asked), place, facts))
        self._sources = sources[:_HOSTS_MAX]
        self._kinds = dict(_movable(facts, self._sources))
        kinds = [asked, *self._kinds.values()]
        view = _view_without(facts, self._kinds, kinds)
        roots = view.forest.by_uuid
        self._roots = {place: roots[place.provider] for place, _ in hosts}
        self._ground = Ground(facts, view, list(self._roots.items()))
        self._filling, self._groups = Filling(self._ground, kinds), Groups(facts)
        self._losses: dict[Place, dict[Asked, int | None]] = {}
        for uuid in self._kinds:
            self._filling.hold(uuid)
        self._servers = grouped(
            ((row.host, row.node), row)
            for row in sorted(facts.instances, key=lambda row: (-size_of(row), row.name, row.uuid))
            if row.uuid in self._kinds
        )

    def chosen(self) -> Iterator[tuple[Move, Amounts]]:
        """The moves, each with what the server holds after it."""
        left = MOVES_MAX
        known: dict[Place, _Leaving | None] = {}
        while left:
            # PERF: without pools, a move changes what is known of its two hosts only.
            if self._ground.facts.sharing:
                known.clear()
            for source in self._sources:
                if source not in known:
                    known[source] = self._leaving(source, MOVES_MAX)
            ranked = [
                (source, row)
                for source in self._sources
                if (row := known[source]) is not None and len(row.servers) <= left
            ]
            ranked.sort(key=lambda row: -row[1].gain / len(row[1].servers))
            chosen = next(
                ((s, done) for s, row in ranked if (done := self._move_off(s, row))), None
            )
            if chosen is None:
                return
            source, moved = chosen
            yield from moved
            left -= len(moved)
            changed = {source.host, *(move.to for move, _ in moved)}
            known = {place: row for place, row in known.items() if place.host not in changed}

    def _servers_of(self, place: Place) -> list[Instance]:
        """The servers of a host that were not moved yet, the largest first."""
        rows = self._servers.get((place.host, place.node), ())
        return [row for row in rows if row.uuid in self._kinds]

    def _leaving(self, place: Place, most: int) -> _Leaving | None:
        """The servers without which more fit on a host, as few as the order finds."""
        root, found = self._roots[place], list[Instance]()
        before = self._filling.fits(self._asked, place, root)
        gain = 0
        for row in self._servers_of(place)[:most]:
            self._filling.release(row.uuid)
            found.append(row)
            gain = self._filling.fits(self._asked, place, root) - before
            if gain:
                break
        for row in found[:-1] if gain else ():
            self._filling.hold(row.uuid)
            if self._filling.fits(self._asked, place, root) - before >= gain:
                found.remove(row)
            else:
                self._filling.release(row.uuid)
        for row in found:
            self._filling.hold(row.uuid)
        return _Leaving(tuple(found), gain) if gain > 0 else None

    def _move_off(self, source: Place, leaving: _Leaving) -> tuple[tuple[Move, Amounts], ...]:
        """Move these servers if that gives room; else nothing."""
        found: list[tuple[Instance, Place, Claim]] = []
        loss = 0
        self._losses.pop(source, None)
        for row in leaving.servers:
            target = self._target(row, source)
            if target is None:
                loss = leaving.gain
                break
            place, claim, lost = target
            loss += lost
            self._filling.release(row.uuid)
            self._groups.move(row, place.host)
            found.append((row, place, claim))
        if loss >= leaving.gain:
            for row, place, claim in found:
                self._filling.give_back(place, claim)
                self._filling.hold(row.uuid)
                self._groups.move(row, source.host)
                self._losses.pop(place, None)
            return ()
        for row, _, _ in found:
            del self._kinds[row.uuid]
        return tuple(
            (Move(row, place.host), self._held_after(claim)) for row, place, claim in found
        )

    def _target(self, server: Instance, source: Place) -> tuple[Place, Claim, int] | None:
        """The host that loses least room for the flavor, the fullest first; the server is on it."""
        kind, best = self._kinds[server.uuid], None
        allowed = self._groups.allowed(server)
        for place, root in reversed(self._ground.hosts):
            if place == source or (place.cell, place.zone) != (source.cell, source.zone):
                continue
            if not allowed(place.host):
                continue
            lost = self._loss(kind, place, root)
            if lost is not None and (best is None or lost < best[2]):
                best = place, root, lost
            if best and not best[2]:
                break
        if best is None:
            return None
        claim = self._filling.on(kind, best[0], best[1])
        self._losses.pop(best[0], None)
        return None if claim is None else (best[0], claim, best[2])

    def _loss(self, kind: Asked, place: Place, root: int) -> int | None:
        """How much room for the flavor a server takes on a host; None: it does not fit there."""
        # PERF: the same until the host changes, and without pools no other host changes it.
        known = self._losses.setdefault(place, {})
        if kind not in known or self._ground.facts.sharing:
            known[kind] = self._loss_now(kind, place, root)
        return known[kind]

    def _loss_now(self, kind: Asked, place: Place, root: int) -> int | None:
        claim = self._filling.on(kind, place, root)
        if claim is None:
            return None
        after = self._filling.fits(self._asked, place, root)
        self._filling.give_back(place, claim)
        return self._filling.fits(self._asked, place, root) - after

    def _held_after(self, claim: Claim) -> Amounts:
        held: dict[str, dict[str, int]] = defaultdict(dict)
        for position, name, amount in claim:
            of_provider = held[self._ground.view.forest.uuids[position]]
            of_provider[name] = of_provider.get(name, 0) + amount
        return held


def amounts_of(asked: Asked) -> Mapping[str, int]:
    """How much of each class one server takes."""
    total = Counter[str]()
    for group in asked.request.groups:
        total.update(dict(group.resources))
    return total


def _lacking(wanted: Mapping[str, int], place: Place, facts: Facts) -> float:
    """The part of one more server that a host lacks, in the class that it lacks most."""
    free = Counter[str]()
    for row in facts.trees.get(place.provider, ()):
        for name, stock in row.inventories.items():
            used = facts.used.get(row.uuid, {}).get(name, 0)
            free[name] += max(stock.capacity - used, 0)
    # A class that the host itself does not have comes from a pool.
    return max((1 - free[name] % n / n for name, n in wanted.items() if name in free), default=0)


def _movable(facts: Facts, hosts: Iterable[Place]) -> Iterator[tuple[str, Asked]]:
    """Servers of these hosts whose needs are all known, by uuid.

    Servers with NUMA cells or devices are not moved, nor those of affinity groups: they stay with
    the others of their group.
    """
    groups = Groups(facts)
    sources = {(place.host, place.node) for place in hosts}
    settled = [
        row
        for row in facts.alive.values()
        if (row.host, row.node) in sources
        and row.uuid in facts.consumers
        and (row.vm_state, row.task_state) == ("active", None)
        and not is_bare_metal(row, facts)
    ]
    for uuid, kind in asked_of_each(settled, facts).items():
        if not isinstance(kind, Asked) or kind.numa is not None:
            continue
        server = facts.alive[uuid]
        group = groups.group_of(server)
        if may_have_devices(server, kind, facts) or (group and group.policy == AFFINITY):
            continue
        # Of aggregates that may be kept for some, the answer says that they were not checked.
        if not gaps_of(kind, facts) - {Gap.AGGREGATE_OWNERS}:
            yield uuid, kind


def _view_without(facts: Facts, movable: Collection[str], kinds: Iterable[Asked]) -> View:
    """The view in which the servers that may leave hold nothing.

    A search knows only providers that had room when it was made.
    """
    kept = {uuid: held for uuid, held in facts.consumers.items() if uuid not in movable}
    return view_of(replace(facts, consumers=kept), {kind.request for kind in kinds})
