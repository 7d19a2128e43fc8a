# SPDX-License-Identifier: Apache-2.0
"""Where servers could go: done one by one, each move finds the room that it was promised."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.asked import Gap
from trueup.capacity.counting import Bind, By
from trueup.capacity.relocation import Move, drained, relieved, survived
from trueup.reconcile.facts import (
    PLACEMENT,
    Coverage,
    Facts,
    Flavor,
    HostCell,
    HostTopology,
    NumaCell,
    NumaTopology,
    SourceStatus,
)
from trueup.reconcile.reasons import because

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=100 up
  host h2 VCPU=4 MEMORY_MB=100 up
  host h3 VCPU=2 MEMORY_MB=100 up
  server web on h1 VCPU=2 MEMORY_MB=10
  server db on h1 VCPU=4 MEMORY_MB=20
  server big on h1 VCPU=4 MEMORY_MB=5
cell2
  host other VCPU=90 MEMORY_MB=900 up
holds web h1 VCPU=2 MEMORY_MB=10
holds db h1 VCPU=4 MEMORY_MB=20
holds big h1 VCPU=4 MEMORY_MB=5
"""


def facts_of(text: str = CLOUD) -> Facts:
    return read_cloud(text).facts()


def said(moves: tuple[Move, ...]) -> list[tuple[str, str | None]]:
    return [(one.server.name, one.to) for one in moves]


def test_the_servers_of_a_host_go_to_others_in_their_cell():
    moves = drained(facts_of(), "h1")
    assert said(moves) == [("db", "h2"), ("web", "h3"), ("big", None)]
    # h2 and h3 are full by then, and the other cell has no say.
    assert moves[2].binds == {(Bind.CLASS, "VCPU"): 2}


def test_a_host_that_gets_no_servers_is_no_place():
    text = CLOUD.replace("h2 VCPU=4 MEMORY_MB=100 up", "h2 VCPU=4 MEMORY_MB=100 up disabled")
    assert said(drained(facts_of(text), "h1")) == [("db", None), ("web", "h3"), ("big", None)]


def test_a_server_of_which_too_little_is_known_is_named():
    text = CLOUD.replace(
        "web on h1 VCPU=2 MEMORY_MB=10", "web on h1 numa-unreadable VCPU=2 MEMORY_MB=10"
    )
    [move] = [one for one in drained(facts_of(text), "h1") if one.server.name == "web"]
    assert (move.to, move.reason) == (None, because("numa-unreadable"))


def test_where_traits_were_not_read_no_place_is_certain_that_needs_one():
    facts = facts_of()
    [web] = [row for row in facts.instances if row.name == "web"]
    assert web.flavor
    fast = replace(web.flavor, extra_specs={"trait:CUSTOM_SLOW": "forbidden"})
    rows = tuple(replace(row, flavor=fast) if row is web else row for row in facts.instances)
    over_api = Coverage((SourceStatus(PLACEMENT, True, read_via="API"),))
    found = drained(replace(facts, instances=rows, coverage=over_api), "h1")
    assert {move.server.name: move.gaps for move in found if move.to} == {
        "db": frozenset(),
        "web": {Gap.TRAITS_NOT_READ},
    }


@pytest.mark.parametrize(
    ("state", "moved"),
    [("stopped", True), ("paused", True), ("soft-delete", False), ("error", False)],
)
def test_a_server_goes_nowhere_in_a_state_in_which_nova_moves_none(state, moved):
    facts = facts_of(CLOUD.replace("server web on h1", f"server web on h1 state={state}"))
    [web] = [move for move in drained(facts, "h1") if move.server.name == "web"]
    refused = because("state-stays", state=state)
    assert (web.to, web.reason) == (("h3", None) if moved else (None, refused))
    # Of a failure it is said whether there is room for it.
    failure = survived(facts, 1)[0]
    assert "web" not in {move.server.name for move in failure.homeless}


def test_a_server_on_bare_metal_goes_nowhere():
    text = """
cell1
  host n1 hypervisor=ironic CUSTOM_BIG=1 up
  host n2 hypervisor=ironic CUSTOM_BIG=1 up
  server metal on n1 VCPU=1 MEMORY_MB=10
holds metal n1 CUSTOM_BIG=1
"""
    for moves in (drained(facts_of(text), "n1"), survived(facts_of(text), 1)[0].moves):
        [move] = moves
        assert (move.to, move.reason) == (None, because("bare-metal-stays"))


@pytest.mark.parametrize(
    ("change", "certain"),
    [
        ({}, True),
        ({"pci_requests": None}, False),
        ({"ports_holding": ("a-port",)}, False),
        # Nova's API never says what ports hold; this server holds what its flavor asks for.
        ({"ports_hold": True}, True),
        ({"ports_hold": True, "flavor": Flavor("f", 2, 9, 0, 0, 0, {})}, False),
    ],
)
def test_where_ports_or_devices_may_need_more_no_place_is_certain(change, certain):
    facts = facts_of()
    rows = tuple(replace(row, **change) if row.name == "web" else row for row in facts.instances)
    [web] = [
        one for one in drained(replace(facts, instances=rows), "h1") if one.server.name == "web"
    ]
    assert (web.to, web.certain) == ("h3", certain)
    failure = survived(replace(facts, instances=rows), 1)[0]
    assert failure.uncertain == (not certain)


def test_numa_cells_are_taken_too():
    facts = facts_of()
    topology = NumaTopology((NumaCell(0, (), (0, 1), 10),))
    servers = tuple(
        replace(row, numa_topology=topology) if row.name in ("web", "big") else row
        for row in facts.instances
    )
    cell = HostCell(0, frozenset(), frozenset({0, 1}), 100)
    nodes = tuple(
        replace(row, numa=HostTopology((cell,))) if row.host == "other" else row
        for row in facts.compute_nodes
    )
    facts = replace(facts, instances=servers, compute_nodes=nodes)
    moves = {one.server.name: one for one in drained(facts, "h1")}
    assert moves["web"].to is None
    assert moves["web"].binds == {(Bind.NUMA, ""): 1, (Bind.CLASS, "VCPU"): 1}


def test_of_each_failure_it_is_said_who_has_no_place():
    failures = {one.hosts: said(one.homeless) for one in survived(facts_of(), 1)}
    assert failures == {
        ("h1",): [("big", None)], ("h2",): [], ("h3",): [], ("other",): [],
    }  # fmt: skip
    together = [one.hosts for one in survived(facts_of(), 2)]
    # Each fails with the one that holds the most.
    assert together == [("h1", "h2"), ("h1", "h3"), ("h1", "other")]


def test_a_failure_in_a_group_is_absorbed_by_the_group():
    groups = {(one.group, one.hosts): len(one.homeless) for one in survived(facts_of(), 1, By.HOST)}
    assert groups["h1", ("h1",)] == 3


OVER = """
cell1
  host h1 VCPU=4 MEMORY_MB=100 up
  host h2 VCPU=9 MEMORY_MB=100 up
  server a on h1 VCPU=2 MEMORY_MB=30
  server b on h1 VCPU=2 MEMORY_MB=20
  server c on h1 VCPU=2 MEMORY_MB=10
holds a h1 VCPU=2 MEMORY_MB=30
holds b h1 VCPU=2 MEMORY_MB=20
holds c h1 VCPU=2 MEMORY_MB=10
"""


def test_an_over_full_host_is_relieved_and_no_more():
    assert said(relieved(facts_of(OVER))) == [("a", "h2")]
    assert relieved(facts_of(OVER.replace("h1 VCPU=4", "h1 VCPU=6"))) == ()


def done(facts: Facts, moves: tuple[Move, ...], released: bool) -> None:
    """Do the moves one by one, with the target claimed before the source is released."""
    used: Counter[tuple[str, str]] = Counter()
    for uuid, row in facts.used.items():
        used.update({(uuid, name): amount for name, amount in row.items()})
    for one in moves:
        if one.to is None:
            continue
        held = facts.consumers[one.server.uuid]
        [(source, amounts)] = held.items()
        target = facts.providers[uuid_of(one.to)]
        for name, amount in amounts.items():
            used[target.uuid, name] += amount
            assert used[target.uuid, name] <= target.inventories[name].capacity
            if released:
                used[source, name] -= amount


@pytest.mark.parametrize("seed", range(60))
def test_every_move_has_room_when_its_turn_comes(seed):
    source = random.Random(seed)
    lines = ["cell1"]
    names = [f"h{number}" for number in range(source.randint(2, 5))]
    for name in names:
        lines.append(f"  host {name} VCPU={source.randint(2, 9)} MEMORY_MB=40 up")
    held = []
    for number in range(source.randint(1, 9)):
        host, cpus, memory = source.choice(names), source.randint(1, 3), source.randint(1, 20)
        amounts = f"VCPU={cpus} MEMORY_MB={memory}"
        lines.append(f"  server s{number} on {host} {amounts}")
        held.append(f"holds s{number} {host} {amounts}")
    facts = facts_of("\n".join([*lines, *held]))
    done(facts, drained(facts, names[0]), released=True)
    done(facts, relieved(facts), released=True)
    for failure in survived(facts, 1 + seed % 2):
        done(facts, failure.moves, released=False)
        assert not {one.to for one in failure.moves} & {*failure.hosts}
