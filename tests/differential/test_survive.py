# SPDX-License-Identifier: Apache-2.0
"""Can I lose a host: each failure is done, and each server asks both services for its place.

Forests whose hosts are in two zones, with servers that booted by candidates and claims. A host
gets no servers any more; for each of its servers, in the order that was stated, the services are
asked as Nova asks for an evacuation: what the server holds stays, and its place is claimed.
Some servers are in groups, about which Nova's own filters are asked.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest
from nova import objects
from nova.scheduler.filters.affinity_filter import (
    ServerGroupAffinityFilter,
    ServerGroupAntiAffinityFilter,
)

from tests.differential.calls import Absent, Draft
from tests.differential.forests import NEWEST, plant
from tests.differential.pair import Pair, TwinFactory
from tests.differential.test_capacity import CELL, TRAITS, claim, facts_in, first_on, request_in
from tests.placement.index.clouds import SHARES, Host
from tests.placement.index.forests import draw_forest
from trueup.capacity.counting import ground
from trueup.capacity.places import Place
from trueup.capacity.relocation import Move, survived
from trueup.reconcile.expected import candidate_query
from trueup.reconcile.facts import Facts, Flavor, HostAggregate, Instance, ServerGroup

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")
FORESTS, SERVERS_MAX = 8, 12
FILTERS = ServerGroupAffinityFilter, ServerGroupAntiAffinityFilter


@pytest.fixture(scope="module", autouse=True)
def of_nova() -> None:
    objects.register_all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("failures")


@pytest.fixture(scope="module")
def twins(folder: Path) -> TwinFactory:
    return TwinFactory(
        folder, [Draft("PUT", f"/traits/{name}", NEWEST, Absent()) for name in TRAITS]
    )


def test_each_failure_is_absorbed_as_it_is_said(folder: Path, twins: TwinFactory) -> None:
    """As many seeds as TRUEUP_EXAMPLES says, and other ones in each run; else always the same."""
    first = random.randrange(2**40) if EXAMPLES else 0
    met: Counter[bool] = Counter()
    for seed in range(first, first + int(EXAMPLES or FORESTS)):
        source = random.Random(seed)
        cloud = drawn_cloud(source)
        with twins.pair(in_use=True) as pair:
            for name in ("upstream", "trueup"):
                plant(folder / f"{name}.sqlite", cloud)
            servers = tuple(booted(pair, source, drawn_flavors(source, cloud)))
            facts = replace(
                facts_in(pair.our_database_url),
                instances=servers,
                host_aggregates=(drawn_zone(source, cloud),),
                server_groups=tuple(drawn_groups(source, servers)),
            )
            for failure in survived(facts, 1):
                found = evacuated(pair, facts, failure.hosts, failure.moves)
                said = [move.to for move in failure.moves]
                assert said == found, f"seed {seed}: {failure.hosts} {cloud}"
                met.update(to is not None for to in said)
    assert set(met) == {True, False}


def drawn_cloud(source: random.Random) -> list[Host]:
    cloud, _ = draw_forest(source, ("flat", "numa", "pci", "bandwidth", "sharing"))
    larger = [
        replace(one, totals={name: 3 * total for name, total in one.totals.items()})
        for one in cloud
    ]
    # A host that is alone has nobody to go to.
    [*roots] = (one for one in larger if one.parent is None and SHARES not in one.traits)
    names = (f"more{number}" for number in range(3 - len(roots)))
    return [*larger, *(replace(roots[0], name=name, aggregates=()) for name in names)]


def drawn_zone(source: random.Random, cloud: Sequence[Host]) -> HostAggregate:
    """The zone of some hosts; the others are in Nova's default one."""
    hosts = sorted(one.name for one in cloud if one.parent is None and SHARES not in one.traits)
    chosen = [name for name in hosts if source.random() < 0.3]
    return HostAggregate(str(uuid4()), "a-zone", tuple(chosen), {"availability_zone": "z"})


def drawn_flavors(source: random.Random, cloud: Sequence[Host]) -> list[Flavor]:
    """Flavors that ask for classes of this cloud, some for a device of its own, some for traits."""
    devices = sorted({"SRIOV_NET_VF", "PGPU"} & {name for one in cloud for name in one.totals})
    has_disk = any("DISK_GB" in one.totals for one in cloud)
    found = []
    for number in range(3):
        specs = {"resources:MEMORY_MB": "0"}
        if devices and source.random() < 0.5:
            specs[f"resources_OF:{source.choice(devices)}"] = str(source.randint(1, 2))
        if source.random() < 0.3:
            specs["trait:CUSTOM_FAST"] = source.choice(("required", "forbidden"))
        disk = source.randint(0, 2) if has_disk else 0
        # The memory tells which servers come first; the ledger of these forests has none.
        found.append(Flavor(f"f{number}", source.randint(1, 3), number * 64, disk, 0, 0, specs))
    return found


def drawn_groups(source: random.Random, servers: Sequence[Instance]) -> Iterator[ServerGroup]:
    """Groups of some servers, each of which is in one at most; a member may be gone."""
    left = source.sample(servers, k=source.randint(0, len(servers)))
    while left:
        members = [left.pop() for _ in range(min(len(left), source.randint(1, 4)))]
        yield ServerGroup(
            uuid=str(uuid4()),
            policy=source.choice(("anti-affinity", "affinity", "soft-affinity")),
            members=frozenset((*(one.uuid for one in members), str(uuid4()))),
            max_per_host=source.randint(1, 2),
        )


def novas_choice(server: Instance, facts: Facts, hosts: Mapping[str, str]) -> Callable[[str], bool]:
    """Whether Nova's filters let a server onto a host; `hosts` has the host of each server."""
    spec = objects.RequestSpec(instance_uuid=server.uuid, instance_group=None)
    for group in facts.server_groups or ():
        if server.uuid in group.members:
            there = {hosts[member] for member in group.members if member in hosts}
            spec.instance_group = objects.InstanceGroup(
                uuid=group.uuid, policy=group.policy, members=[*group.members], hosts=[*there]
            )
            spec.instance_group.policies = [group.policy]
            spec.instance_group._rules = {"max_server_per_host": str(group.max_per_host)}

    def passes(host: str) -> bool:
        instances = dict.fromkeys(uuid for uuid, where in hosts.items() if where == host)
        state = SimpleNamespace(host=host, instances=instances)
        return all(one().host_passes(state, spec) for one in FILTERS)

    return passes


def asking(flavor: Flavor) -> Draft:
    query = candidate_query(flavor, {}, volume_backed=False)
    return Draft("GET", f"/allocation_candidates?{query}", NEWEST)


def booted(pair: Pair, source: random.Random, flavors: Sequence[Flavor]) -> Iterator[Instance]:
    """Servers, each with a candidate that anybody might have chosen."""
    roots = {row.uuid: row.root for row in facts_in(pair.our_database_url).providers.values()}
    hosts = {one.uuid: one.host for one in facts_in(pair.our_database_url).compute_nodes}
    for number in range(source.randint(4, SERVERS_MAX)):
        flavor = source.choice(flavors)
        offered = [
            (hosts[root], one["allocations"])
            for one in pair.answer(asking(flavor)).body["allocation_requests"]
            for root in {roots[uuid] for uuid in one["allocations"]} & hosts.keys()
        ]
        if offered:
            host, chosen = source.choice(offered)
            claim(pair, chosen)
            yield instance(f"server{number}", host, flavor)


def instance(name: str, host: str, flavor: Flavor) -> Instance:
    return Instance(
        uuid=str(uuid4()),
        name=name,
        cell=CELL,
        project="p",
        user="u",
        host=host,
        node=host,
        vm_state="active",
        task_state=None,
        deleted=False,
        hidden=False,
        updated_at=None,
        flavor=flavor,
    )


def evacuated(
    pair: Pair, facts: Facts, gone: Sequence[str], moves: Sequence[Move]
) -> list[str | None]:
    """Where each of these servers finds a place, one after the other; at the end all is undone."""
    requests = {move.server.uuid: asking(move.server.flavor) for move in moves}
    hosts = [place for place, _ in ground(facts, map(request_in, requests.values())).hosts]
    zones = {place.host: place.zone for place in hosts}
    found, claimed = [], []
    now_on = {row.uuid: row.host for row in facts.instances}
    for move in moves:
        passes = novas_choice(move.server, facts, now_on)
        open_to_it = [
            place
            for place in hosts
            if place.host not in gone and place.zone == zones[move.server.host]
            if passes(place.host)
        ]
        place, chosen = first_place(pair, facts, requests[move.server.uuid], open_to_it)
        if chosen:
            claimed.append(claim(pair, chosen))
            now_on[move.server.uuid] = place
        found.append(place)
    for consumer in claimed:
        path = f"/allocations/{consumer}"
        assert pair.answer(Draft("DELETE", path, NEWEST, Absent())).status == 204
    return found


def first_place(
    pair: Pair, facts: Facts, asked: Draft, hosts: Sequence[Place]
) -> tuple[str | None, object]:
    """The first of these hosts that both services offer, and the candidate."""
    body, request = pair.answer(asked).body, request_in(asked)
    for place in hosts:
        if chosen := first_on(place.provider, body, request, facts):
            return place.host, chosen
    return None, None
