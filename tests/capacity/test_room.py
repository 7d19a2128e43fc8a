# SPDX-License-Identifier: Apache-2.0
"""How many servers fit: the same as asking for candidates and claiming one until none is left."""

import os
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.placement.index.clouds import SHARES, Host, group, view_of
from tests.placement.index.forests import draw_forest, draw_request
from trueup.capacity.room import Fitting, Room, claims_of
from trueup.model.candidates import CandidateColumns, Candidates
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import find_candidates
from trueup.placement.index.view.columns import View

SEEDS = range(int(os.environ.get("TRUEUP_EXAMPLES", 400)))


def root_of(name: str) -> str:
    return name.partition("_")[0]


def hosts_in(cloud: Sequence[Host]) -> list[str]:
    return [one.name for one in cloud if one.parent is None and not one.name.endswith("-pool")]


def first_on(host: str, found: Candidates, view: View) -> dict[str, dict[str, int]] | None:
    """What the first candidate of a host takes: the parts of the request in their order."""
    columns: CandidateColumns = found.columns(0, found.count)
    slots = found.request_slots
    keys = [(suffix, sorted(name for name, _ in asked)) for suffix, asked in slots]
    order = sorted(range(len(slots)), key=lambda number: keys[number])
    of_host = [
        candidate
        for candidate in zip(*columns.uuids, strict=True)
        if any(root_of(one) == host for one in candidate)
    ]
    if not of_host:
        return None
    chosen = min(of_host, key=lambda one: [view.forest.by_uuid[one[slot]] for slot in order])
    taken: dict[str, dict[str, int]] = {}
    for (_, asked), name in zip(slots, chosen, strict=True):
        for resource, amount in asked:
            held = taken.setdefault(name, {})
            held[resource] = held.get(resource, 0) + amount
    return taken


def with_claim(cloud: list[Host], taken: dict[str, dict[str, int]]) -> list[Host]:
    return [
        replace(
            one,
            used={
                name: one.used.get(name, 0) + taken.get(one.name, {}).get(name, 0)
                for name in one.totals
            },
        )
        for one in cloud
    ]


def booted(cloud: list[Host], request: CandidateRequest) -> dict[str, int]:
    """Boots on each host in turn until it has no candidate."""
    counts = {}
    for host in hosts_in(cloud):
        counts[host] = 0
        while True:
            view = view_of(cloud)
            found = find_candidates(request, view, GenerationOptions())
            taken = first_on(host, found, view)
            if taken is None:
                break
            cloud = with_claim(cloud, taken)
            counts[host] += 1
    return counts


def counted(cloud: list[Host], request: CandidateRequest) -> dict[str, int]:
    view = view_of(cloud)
    room = Room(view)
    search = room.search(request)
    if search is None:
        return dict.fromkeys(hosts_in(cloud), 0)
    roots = {host: view.forest.by_uuid[host] for host in hosts_in(cloud)}
    return {host: room.count(search, root).count for host, root in roots.items()}


def drawn(seed: int) -> tuple[list[Host], CandidateRequest]:
    """A cloud with hosts of any shape but those whose pools are below other providers."""
    source = random.Random(seed)
    shapes = ("flat", "numa", "pci", "bandwidth", "sharing", "sharing")
    cloud, classes = draw_forest(source, shapes)
    larger = [
        replace(
            one, totals={name: total * source.choice((1, 3)) for name, total in one.totals.items()}
        )
        for one in cloud
    ]
    request = replace(draw_request(source, larger, classes), nested=True)
    if not any(one.resources for one in request.groups):
        return drawn(seed + 10_000)
    return larger, request


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_fit_as_boot_one_after_the_other(seed):
    cloud, request = drawn(seed)
    booting = booted(cloud, request)
    assert counted(cloud, request) == booting
    assert at_once(cloud, request) in (None, booting)


def at_once(cloud: list[Host], request: CandidateRequest) -> dict[str, int] | None:
    """The counts of all hosts by one division, if that is offered."""
    view = view_of(cloud)
    room = Room(view)
    search = room.search(request)
    each = room.counts(search) if search else {}
    if each is None:
        return None
    roots = {host: view.forest.by_uuid[host] for host in hosts_in(cloud)}
    return {host: each[root].count if root in each else 0 for host, root in roots.items()}


def asked(**resources: int) -> CandidateRequest:
    return CandidateRequest((group(**resources),))


def test_the_class_that_ends_first_is_named():
    view = view_of([Host("h", {"VCPU": 9, "MEMORY_MB": 100})])
    room = Room(view)
    search = room.search(asked(VCPU=2, MEMORY_MB=10))
    assert search is not None
    assert room.count(search, 0) == Fitting(4, "VCPU")
    assert room.counts(search) == {0: Fitting(4, "VCPU")}
    assert room.count(search, 0, most=3) == Fitting(3, "")


def test_what_one_host_takes_of_a_pool_is_gone_for_the_next():
    rack = ("rack",)
    cloud = [
        Host("a", {"VCPU": 4}, aggregates=rack),
        Host("b", {"VCPU": 4}, aggregates=rack),
        Host("c", {"VCPU": 4}, aggregates=rack),
        Host("disks", {"DISK_GB": 50}, traits=(SHARES,), aggregates=rack),
    ]
    view = view_of(cloud)
    room = Room(view)
    search = room.search(asked(VCPU=1, DISK_GB=10))
    assert search is not None
    assert [room.count(search, root).count for root in (0, 1, 2)] == [4, 1, 0]


def test_a_server_that_is_placed_can_be_released():
    view = view_of([Host("h", {"VCPU": 2})])
    room = Room(view)
    search = room.search(asked(VCPU=2))
    assert search is not None
    claim = room.place(search, 0)
    assert claim == ((0, "VCPU", 2),)
    assert room.place(search, 0) is None
    room.release(claim)
    assert room.place(search, 0) == claim
    assert view.inventories["VCPU"].used.tolist() == [0]


def test_what_a_consumer_holds_of_an_unknown_provider_is_left_out():
    view = view_of([Host("h", {"VCPU": 2})])
    held = {"h": {"VCPU": 1}, "gone": {"VCPU": 1}}
    assert list(claims_of(held, view)) == [(0, "VCPU", 1)]
