# SPDX-License-Identifier: Apache-2.0
"""How many servers of a mix fit: some of each kind are made in turn, until one has no place.

Each goes to the first host that has room, in the order in which Nova's weighers prefer them now.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from trueup.capacity.asked import Asked, gaps_of
from trueup.capacity.counting import (
    Bind,
    Binding,
    By,
    Capacity,
    Count,
    Ground,
    Later,
    Row,
    grounds_of,
    groups_of,
    left_out_of,
)
from trueup.capacity.filling import Filling
from trueup.capacity.places import Place, places, unknown_hosts
from trueup.reconcile.facts import Facts


@dataclass(frozen=True, slots=True)
class Portion:
    """How many servers of a kind are made before the next kind has its turn."""

    asked: Asked
    number: int


@dataclass(frozen=True, slots=True)
class Share:
    """The servers of one kind in a filled group: how many by host, and what ends it."""

    on: Mapping[Place, int]
    binds: Mapping[Binding, int]

    @property
    def count(self) -> Count:
        return Count(sum(self.on.values()), len(self.on), max(self.on.values(), default=0))


def mixed(mix: Sequence[Portion], facts: Facts, by: By, later: Later) -> Capacity:
    """How many servers of each kind of a mix fit in each group."""
    grounds = grounds_of([portion.asked for portion in mix], facts, later)
    every, rows = places(facts), []
    for name, left_out in left_out_of(every, by).items():
        filled = {
            time: fill_with(
                mix, ground, [host for host in ground.hosts if name in groups_of(host[0], by)]
            )
            for time, ground in grounds.items()
        }
        for number, portion in enumerate(mix):
            counts = {time: shares[number].count for time, shares in filled.items()}
            rows.append(
                Row(
                    portion.asked,
                    name,
                    counts["now"],
                    counts.get("repaired"),
                    counts.get("planned"),
                    Counter(filled["now"][number].binds) + left_out,
                    gaps_of(portion.asked, facts),
                )
            )
    unknown = tuple(row.name for row in unknown_hosts(facts))
    portions = {portion.asked.name: portion.number for portion in mix}
    return Capacity(by, tuple(rows), every, unknown, mix=portions)


def fill_with(
    mix: Sequence[Portion], ground: Ground, hosts: Sequence[tuple[Place, int]]
) -> tuple[Share, ...]:
    """Fill these hosts with a mix."""
    filling = Filling(ground, [portion.asked for portion in mix])
    # PERF: a host that had no room for a kind has none later: each kind goes through them once.
    at = [0] * len(mix)
    on = [Counter[Place]() for _ in mix]
    ended_by = 0
    for number in _turns(mix):
        asked = mix[number].asked
        while at[number] < len(hosts) and filling.on(asked, *hosts[at[number]]) is None:
            at[number] += 1
        if at[number] == len(hosts):
            ended_by = number
            break
        on[number][hosts[at[number]][0]] += 1
    without_place = mix[ended_by].asked
    waiting = {(Bind.MIX, without_place.name): len(hosts)}
    return tuple(
        Share(placed, filling.binds(without_place, hosts) if number == ended_by else waiting)
        for number, placed in enumerate(on)
    )


def _turns(mix: Sequence[Portion]) -> Iterable[int]:
    """The numbers of the portions in turn, without end."""
    while True:
        for number, portion in enumerate(mix):
            yield from repeat(number, portion.number)
