# SPDX-License-Identifier: Apache-2.0
"""Moves that make room: done one by one, they give the room that was said."""

import random
from collections import Counter

import pytest

from tests.capacity.test_counting import facts_of
from tests.capacity.test_relocation import done
from tests.scenarios.names import uuid_of
from trueup.capacity.asked import Asked, asked_of_amounts
from trueup.capacity.counting import By
from trueup.capacity.fragments import MOVES_MAX, free_in, gains
from trueup.reconcile.facts import Facts

FOUR = asked_of_amounts({"VCPU": 4, "MEMORY_MB": 10})
CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=100 up
  host h2 VCPU=4 MEMORY_MB=100 up
  host h3 VCPU=2 MEMORY_MB=100 up
  server one on h1 VCPU=3 MEMORY_MB=9
  server two on h2 VCPU=1 MEMORY_MB=5
  server three on h2 VCPU=1 MEMORY_MB=4
cell2
  host other VCPU=9 MEMORY_MB=900 up
holds one h1 VCPU=3 MEMORY_MB=9
holds two h2 VCPU=1 MEMORY_MB=5
holds three h2 VCPU=1 MEMORY_MB=4
"""


def said(facts: Facts, asked: Asked = FOUR) -> list[tuple[str, str | None, int]]:
    return [(gain.move.server.name, gain.move.to, gain.fits) for gain in gains(facts, asked).moves]


def test_servers_go_where_they_take_no_room_from_the_flavor():
    assert gains(facts_of(CLOUD), FOUR).fits == 3
    # h1 has one CPU more than one flavor needs, and h3 is too small for any.
    assert said(facts_of(CLOUD)) == [("two", "h3", 3), ("three", "h3", 4)]


def test_what_cannot_help_is_not_moved():
    # h1 could take one of them, and that alone makes no room.
    assert said(facts_of(CLOUD.replace("h3 VCPU=2", "h3 VCPU=1 disabled"))) == []


def test_what_is_free_is_that_of_every_host_of_a_group():
    facts = facts_of(CLOUD)
    assert free_in(facts, By.CELL) == {
        "cell1": {"VCPU": 9, "MEMORY_MB": 282}, "cell2": {"VCPU": 9, "MEMORY_MB": 900},
    }  # fmt: skip


def generated(seed: int) -> Facts:
    source, lines, held = random.Random(seed), ["cell1"], list[str]()
    left = {}
    for number in range(source.randint(2, 5)):
        left[f"h{number}"] = [source.randint(3, 9), 60]
        lines.append(f"  host h{number} VCPU={left[f'h{number}'][0]} MEMORY_MB=60 up")
    for number in range(source.randint(2, 12)):
        host, cpus, memory = source.choice([*left]), source.randint(1, 3), source.randint(1, 20)
        if left[host][0] >= cpus and left[host][1] >= memory:
            left[host] = [left[host][0] - cpus, left[host][1] - memory]
            lines.append(f"  server s{number} on {host} VCPU={cpus} MEMORY_MB={memory}")
            held.append(f"holds s{number} {host} VCPU={cpus} MEMORY_MB={memory}")
    return facts_of("\n".join([*lines, *held]))


def fitting(used: Counter[tuple[str, str]], facts: Facts) -> int:
    """How many of the flavor fit, by dividing."""
    amounts = {"VCPU": 4, "MEMORY_MB": 10}
    return sum(
        min(
            max(row.inventories[name].capacity - used[row.uuid, name], 0) // amount
            for name, amount in amounts.items()
        )
        for row in facts.providers.values()
    )


def used_in(facts: Facts) -> Counter[tuple[str, str]]:
    return Counter({(uuid, name): n for uuid, row in facts.used.items() for name, n in row.items()})


def one_move_helps(facts: Facts) -> bool:
    """Whether any server, moved to any other host, leaves room for more."""
    before = fitting(used_in(facts), facts)
    for held in facts.consumers.values():
        [(source, amounts)] = held.items()
        for target in facts.providers.values():
            used = used_in(facts)
            for name, amount in amounts.items():
                used[source, name] -= amount
                used[target.uuid, name] += amount
            has_room = all(used[target.uuid, n] <= target.inventories[n].capacity for n in amounts)
            if has_room and fitting(used, facts) > before:
                return True
    return False


@pytest.mark.parametrize("seed", range(80))
def test_moves_that_are_done_give_what_was_said(seed):
    facts = generated(seed)
    found = gains(facts, FOUR)
    used = used_in(facts)
    assert found.fits == fitting(used, facts)
    assert bool(found.moves) or not one_move_helps(facts)
    assert len(found.moves) <= MOVES_MAX
    done(facts, tuple(gain.move for gain in found.moves), released=True)
    for gain in found.moves:
        [(source, amounts)] = facts.consumers[gain.move.server.uuid].items()
        for name, amount in amounts.items():
            used[source, name] -= amount
            used[uuid_of(gain.move.to or ""), name] += amount
        assert fitting(used, facts) == gain.fits
    if found.moves:
        assert found.moves[-1].fits > found.fits
