# SPDX-License-Identifier: Apache-2.0
"""How many more servers of each kind fit, where, and what stands in the way.

The policy: each kind is counted alone. Hosts are filled one after the other, in the order in which
Nova's weighers prefer them now; pools are shared, and what one host takes is gone for the next.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from trueup.capacity.asked import NUMA_TOPOLOGIES, Asked, Gap, NotAskable, gaps_of
from trueup.capacity.ledger import view_of
from trueup.capacity.places import (
    LeftOut,
    Place,
    cells_of,
    in_order,
    places,
    unknown_hosts,
)
from trueup.capacity.room import ENDLESS, Fitting, Room, search_in
from trueup.model.requests import CandidateRequest
from trueup.placement.index.filters import Filter, Resource, filters_of, request_of, text_of
from trueup.placement.index.search.all_trees import trees_with_candidates
from trueup.placement.index.view.columns import View
from trueup.reconcile.facts import Facts


class By(StrEnum):
    """What hosts are grouped by."""

    CLOUD = "cloud"
    CELL = "cell"
    ZONE = "zone"
    AGGREGATE = "aggregate"
    HOST = "host"


class Bind(StrEnum):
    """What keeps one more server from a host."""

    CLASS = "class"
    UNIT = "unit"
    FILTER = "filter"
    TOGETHER = "together"
    NUMA = "numa"
    SERVERS_MAX = "max_instances_per_host"
    SERVER_GROUP = "server-group"
    LEFT_OUT = "left-out"
    MIX = "mix"


_BEYOND_PLACEMENT = frozenset({Bind.NUMA, Bind.SERVERS_MAX})
Binding = tuple[Bind, str]
"""What binds, and which: the class, the filter as the request has it, or why it is left out."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many servers fit, on how many hosts, and the most on one host."""

    fits: int
    hosts: int
    largest: int


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of server in one group of hosts.

    `repaired` is after the findings of the audit are repaired, `planned` after the plan that was
    named; None where nothing is to be repaired, or no plan was named. `binds` says of each thing
    that keeps one more server away on how many hosts it does.
    """

    asked: Asked
    group: str
    now: Count
    repaired: Count | None
    planned: Count | None
    binds: Mapping[Binding, int]
    gaps: frozenset[Gap]


@dataclass(frozen=True, slots=True)
class Capacity:
    """All rows, the hosts that Nova leaves out, and what is not counted.

    `unknown_hosts` are providers whose compute node was not read, as of a silent cell. `mix` has
    how many of each kind are made in turn; empty: each kind is counted alone. `free` is what nobody
    holds, by group and class.
    """

    by: By
    rows: tuple[Row, ...]
    places: tuple[Place, ...]
    unknown_hosts: tuple[str, ...]
    not_askable: tuple[NotAskable, ...] = ()
    mix: Mapping[str, int] = field(default_factory=dict)
    free: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def left_out(self) -> Mapping[LeftOut, int]:
        return Counter(place.left_out for place in self.places if place.left_out)


@dataclass(frozen=True, slots=True)
class Later:
    """The same cloud at other times: after repair, and after a plan; None where not asked."""

    repaired: Facts | None = None
    planned: Facts | None = None


def capacity(asked: Sequence[Asked], facts: Facts, by: By, later: Later) -> Capacity:
    """How many servers of each kind fit in each group, if only servers of this kind are made."""
    grounds = grounds_of(asked, facts, later)
    every = places(facts)
    rows = [row for kind in asked for row in _rows(kind, grounds, every, by)]
    unknown = tuple(row.name for row in unknown_hosts(facts))
    return Capacity(by, tuple(rows), every, unknown)


@dataclass(frozen=True, slots=True)
class Ground:
    """A cloud at one time, ready to be filled: its view, and its hosts in the order of filling."""

    facts: Facts
    view: View
    hosts: Sequence[tuple[Place, int]]


def ground(facts: Facts, requests: Iterable[CandidateRequest]) -> Ground:
    """The ground for these requests."""
    view = view_of(facts, requests)
    return Ground(facts, view, in_order(places(facts), view))


def grounds_of(asked: Iterable[Asked], facts: Facts, later: Later) -> Mapping[str, Ground]:
    """The ground at each time that is asked for: `now`, `repaired`, `planned`."""
    requests = [kind.request for kind in asked]
    times = (("now", facts), ("repaired", later.repaired), ("planned", later.planned))
    return {name: ground(found, requests) for name, found in times if found is not None}


def groups_of(place: Place, by: By) -> tuple[str, ...]:
    """The groups that a host is in; of aggregates there may be several, or none."""
    match by:
        case By.CLOUD:
            return ("",)
        case By.CELL:
            return (place.cell,)
        case By.ZONE:
            return (place.zone,)
        case By.AGGREGATE:
            return place.aggregates
        case By.HOST:
            return (place.host if place.host == place.node else f"{place.host} {place.node}",)


def _rows(
    asked: Asked, grounds: Mapping[str, Ground], every: Sequence[Place], by: By
) -> Iterator[Row]:
    whole = {time: fill(asked, ground) for time, ground in grounds.items()}
    counts = {time: _by_group(asked, grounds[time], by, found) for time, found in whole.items()}
    binds = _binds(asked, grounds["now"], whole["now"], by)
    gaps = gaps_of(asked, grounds["now"].facts)
    for name, left_out in left_out_of(every, by).items():
        of_group = {time: _count(found.get(name, ())) for time, found in counts.items()}
        yield Row(
            asked, name, of_group["now"], of_group.get("repaired"), of_group.get("planned"),
            binds.get(name, Counter()) + left_out, gaps,
        )  # fmt: skip


def left_out_of(every: Iterable[Place], by: By) -> dict[str, Counter[Binding]]:
    """Every group, by name: how many of its hosts are left out, and why."""
    found: dict[str, Counter[Binding]] = {}
    for place in every:
        for name in groups_of(place, by):
            counts = found.setdefault(name, Counter())
            if place.left_out is not None:
                counts[Bind.LEFT_OUT, place.left_out] += 1
    return dict(sorted(found.items())) or {"": Counter()}


def _count(fittings: Iterable[Fitting]) -> Count:
    numbers = [fitting.count for fitting in fittings]
    return Count(sum(numbers), sum(1 for number in numbers if number), max(numbers, default=0))


def _by_group(
    asked: Asked, ground: Ground, by: By, whole: Sequence[Fitting]
) -> dict[str, list[Fitting]]:
    """How many fit on each host of each group, if only this group is filled.

    `whole` is how many fit on each host if all are.
    """
    grouped: dict[str, list[tuple[Place, int]]] = defaultdict(list)
    for place, root in ground.hosts:
        for name in groups_of(place, by):
            grouped[name].append((place, root))
    if not len(ground.view.sharing):
        # PERF: without pools a host has the same number in each of its groups.
        each = dict(zip((root for _, root in ground.hosts), whole, strict=True))
        return {name: [each[root] for _, root in hosts] for name, hosts in grouped.items()}
    return {name: fill(asked, ground, hosts) for name, hosts in grouped.items()}


def fill(
    asked: Asked, ground: Ground, hosts: Sequence[tuple[Place, int]] | None = None
) -> list[Fitting]:
    """How many fit on each of these hosts, or on all, filled in their order."""
    chosen = ground.hosts if hosts is None else hosts
    room = Room(ground.view)
    search = room.search(asked.request)
    if search is None:
        return [Fitting(0, "") for _ in chosen]
    at_once, nowhere = room.counts(search), Fitting(0, "")
    if at_once is not None and asked.numa is None:
        # PERF: nearly all flavors and hosts; aggregates seldom have limits.
        return [
            at_once.get(root, nowhere)
            if place.servers_max is None
            else _capped(at_once.get(root, nowhere), asked, place, ground.facts)
            for place, root in chosen
        ]
    found = []
    for place, root in chosen:
        if at_once is not None:
            found.append(_capped(at_once.get(root, nowhere), asked, place, ground.facts))
        elif place.servers_max is None and asked.numa is None:
            found.append(room.count(search, root))
        else:
            trial = Fitting(ENDLESS if root in search.trees else 0, "")
            cap = _capped(trial, asked, place, ground.facts)
            counted = room.count(search, root, cap.count)
            found.append(cap if counted.count == cap.count and cap.ends_by else counted)
    return found


def _capped(found: Fitting, asked: Asked, place: Place, facts: Facts) -> Fitting:
    """At most as many as the aggregates of a host and its NUMA cells allow."""
    if place.servers_max is not None and place.servers_max < found.count:
        found = Fitting(place.servers_max, Bind.SERVERS_MAX)
    if asked.numa is None or not found.count or not facts.has(NUMA_TOPOLOGIES):
        return found
    cells = cells_of(place, facts)
    # PARITY: a host that reports no NUMA cells gets no server that asks for any.
    fits = cells.count(asked.numa, found.count) if cells else 0
    return Fitting(fits, Bind.NUMA) if fits < found.count else found


def _binds(
    asked: Asked, ground: Ground, fittings: Sequence[Fitting], by: By
) -> dict[str, Counter[Binding]]:
    """By group: on how many of its hosts each thing keeps one more server away."""
    found: dict[str, Counter[Binding]] = defaultdict(Counter)
    empty = [
        root
        for (_, root), fitting in zip(ground.hosts, fittings, strict=True)
        if not fitting.ends_by
    ]
    lacking = first_bindings(asked.request, ground.view, empty) if empty else {}
    for (place, root), fitting in zip(ground.hosts, fittings, strict=True):
        if fitting.ends_by in _BEYOND_PLACEMENT:
            binding = (Bind(fitting.ends_by), "")
        else:
            binding = (Bind.CLASS, fitting.ends_by) if fitting.ends_by else lacking[root]
        for name in groups_of(place, by):
            found[name][binding] += 1
    return found


def first_bindings(
    request: CandidateRequest, view: View, roots: Sequence[int]
) -> dict[int, Binding]:
    """What keeps the first server away from each of these hosts: filter after filter is added."""
    left, found, kept = set(roots), dict[int, Binding](), list[Filter]()
    for filter_ in filters_of(request):
        kept.append(filter_)
        part = request_of(kept, request)
        if part is None:
            continue
        after = left & _roots(part, view)
        found |= _binding(filter_, left - after, view)
        left = after
        if not left:
            break
    return found | dict.fromkeys(left, (Bind.TOGETHER, ""))


def _binding(lost_by: Filter, roots: Iterable[int], view: View) -> dict[int, Binding]:
    """What a filter is about, on each of the hosts that it leaves out."""
    if not isinstance(lost_by, Resource):
        return dict.fromkeys(roots, (Bind.FILTER, text_of(lost_by)))
    column = view.inventories.get(lost_by.name)
    if column is None:
        return dict.fromkeys(roots, (Bind.CLASS, lost_by.name))
    # Room is there, and one server may not take so much, or not so little, or not this amount.
    has_room = column.capacity - column.used >= lost_by.amount
    by_unit = set(view.forest.roots[column.positions[has_room]].tolist())
    return {root: (Bind.UNIT if root in by_unit else Bind.CLASS, lost_by.name) for root in roots}


def _roots(request: CandidateRequest, view: View) -> set[int]:
    search = search_in(view, request)
    if search is None:
        return set()
    # PERF: without choices that restrict each other, each tree that is left has candidates.
    if not search.problem.dependent:
        return set(search.trees)
    return set(trees_with_candidates(search.problem).tolist())
