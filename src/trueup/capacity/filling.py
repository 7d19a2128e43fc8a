# SPDX-License-Identifier: Apache-2.0
"""Hosts while servers of several kinds are placed on them, one after another."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from trueup.capacity.asked import NUMA_TOPOLOGIES, Asked
from trueup.capacity.counting import Bind, Binding, Ground, first_bindings
from trueup.capacity.places import Place, cells_of
from trueup.capacity.room import Claim, Room, claims_of
from trueup.reconcile.scheduling.numa import HostCells


class Filling:
    """The hosts of a ground. Each server takes room, NUMA cells and a place of `servers_max`."""

    def __init__(self, ground: Ground, kinds: Iterable[Asked]) -> None:
        self._facts, self._room = ground.facts, Room(ground.view)
        requests = {kind.request for kind in kinds}
        self._searches = {request: self._room.search(request) for request in requests}
        self._cells: dict[str, HostCells | None] = {}
        self._added = Counter[str]()
        self._claims: list[Claim] = []
        self._full: dict[Asked, set[int]] = defaultdict(set)

    def on_first(self, asked: Asked, hosts: Iterable[tuple[Place, int]]) -> Place | None:
        """Place a server on the first of these hosts that has room; None: none has."""
        # PERF: as long as nothing is released, a host that had no room has none.
        full = self._full[asked]
        for place, root in hosts:
            if root in full:
                continue
            if self.on(asked, place, root) is not None:
                return place
            full.add(root)
        return None

    def had_room(self, asked: Asked, root: int) -> bool:
        """Whether this host had room for such a server before any was placed."""
        search = self._searches[asked.request]
        return search is not None and root in search.trees

    def on(self, asked: Asked, place: Place, root: int) -> Claim | None:
        """Place a server on this host; None: it has no room."""
        search = self._searches[asked.request]
        if search is None or self._at_most(place):
            return None
        claim = self._room.place(search, root)
        if claim is not None and asked.numa is not None and self._facts.has(NUMA_TOPOLOGIES):
            if place.provider not in self._cells:
                self._cells[place.provider] = cells_of(place, self._facts)
            cells = self._cells[place.provider]
            if cells is None or not cells.place(asked.numa):
                self._room.release(claim)
                return None
        if claim is not None:
            self._added[place.provider] += 1
            self._claims.append(claim)
        return claim

    def release(self, server: str) -> None:
        """Give back what a server (its uuid) holds."""
        held = self._facts.consumers.get(server, {})
        self._room.release(tuple(claims_of(held, self._room.view)))
        self._full.clear()

    def hold(self, server: str) -> None:
        """Let a server (its uuid) hold what it holds: the opposite of `release`."""
        held = self._facts.consumers.get(server, {})
        self._room.take(tuple(claims_of(held, self._room.view)))

    def give_back(self, place: Place, claim: Claim) -> None:
        """Undo the placing of one server; not of one that needs NUMA cells."""
        self._room.release(claim)
        self._claims.remove(claim)
        self._added[place.provider] -= 1
        self._full.clear()

    def fits(self, asked: Asked, place: Place, root: int) -> int:
        """How many more servers this host alone has room for; they take nothing."""
        claims = []
        while claim := self.on(asked, place, root):
            claims.append(claim)
        self._cells.pop(place.provider, None)
        for claim in claims:
            self.give_back(place, claim)
        return len(claims)

    def take_back(self) -> None:
        """Undo all placing so far. No server may have been released in between."""
        for claim in self._claims:
            self._room.release(claim)
        self._claims, self._cells = [], {}
        self._added.clear()
        self._full.clear()

    def binds(self, asked: Asked, hosts: Sequence[tuple[Place, int]]) -> Counter[Binding]:
        """What keeps one more server away from these hosts, none of which has room."""
        found = Counter[Binding]({(Bind.SERVERS_MAX, ""): 0})
        open_roots = []
        for place, root in hosts:
            if self._at_most(place):
                found[Bind.SERVERS_MAX, ""] += 1
            else:
                open_roots.append(root)
        lacking = first_bindings(asked.request, self._room.view, open_roots).values()
        # Placement would have let it in, and the NUMA cells do not.
        by_cells = asked.numa is not None
        found.update(
            (Bind.NUMA, "") if by_cells and bind == (Bind.TOGETHER, "") else bind
            for bind in lacking
        )
        return +found

    def _at_most(self, place: Place) -> bool:
        """Whether the aggregates of a host allow no more servers."""
        return place.servers_max is not None and self._added[place.provider] >= place.servers_max
