# SPDX-License-Identifier: Apache-2.0
import itertools
import random

from tests.placement.index.clouds import Host, group
from tests.placement.index.search.problems import Tree, tree_of
from trueup.placement.index.search.one_tree import Patience, choices
from trueup.placement.index.search.partial import Choice


def chosen(tree: Tree, patience: Patience | None = None, most: int = 1000) -> list[Choice]:
    hand = tree.hand
    return list(itertools.islice(choices(hand.table, hand.offers, patience or Patience()), most))


def test_slots_without_rules_are_a_product() -> None:
    cloud = [Host("host", {"DISK_GB": 9}), *(Host(f"n{n}", {"VCPU": 8}, "host") for n in range(3))]
    assert len(chosen(tree_of(cloud, group(DISK_GB=1, VCPU=1)))) == 3


def test_isolated_groups_never_meet() -> None:
    cloud = [Host("host"), *(Host(f"numa{n}", {"VCPU": 8}, "host") for n in range(3))]
    tree = tree_of(cloud, group("1", VCPU=1), group("2", VCPU=1), isolate=True)
    found = chosen(tree)
    assert len(found) == 6
    assert all(first != second for first, second in found)


def test_each_choice_comes_with_all_that_is_free() -> None:
    cloud = [
        Host("host"),
        *(Host(f"numa{n}", {"VCPU": 8}, "host") for n in range(3)),
        *(Host(f"disk{n}", {"DISK_GB": 8}, "host") for n in range(4)),
    ]
    asked = (group(DISK_GB=1), group("1", VCPU=5), group("2", VCPU=5))
    assert len(set(chosen(tree_of(cloud, *asked)))) == 4 * 6


def test_the_only_way_among_millions_is_found() -> None:
    """Twelve groups on twelve devices: one for each, and each group may use two of them."""
    gpu = {"PGPU": 1}
    cards = [Host(f"gpu{n}", gpu, "host", aggregates=(f"{n}", f"{n + 1}")) for n in range(12)]
    asked = [group(f"_{n}", PGPU=1, member_of=str(n + 1)) for n in range(12)]
    patience = Patience()
    found = chosen(tree_of([Host("host"), *cards], *asked), patience)
    assert len(found) == 1
    assert patience.left > 310_000


def test_what_cannot_be_is_seen_before_all_is_tried() -> None:
    """Nine groups for which eight devices are left; there are more, for the first group alone."""
    cards = [Host(f"gpu{n}", {"PGPU": 1}, "host", ("RED",)) for n in range(8)]
    cards += [Host(f"old{n}", {"PGPU": 1}, "host") for n in range(8)]
    red = [group(f"_{n}", PGPU=1, required="RED") for n in range(4)]
    either = [group(f"_E{n}", PGPU=1, required="RED|FAST") for n in range(5)]
    patience = Patience()
    assert chosen(tree_of([Host("host"), *cards], *red, *either), patience) == []
    assert patience.left > 310_000


def test_patience_has_an_end() -> None:
    """Boxes of 100 for things of 20 to 60: there is room for all of it, and yet it is a puzzle."""
    source = random.Random(1)
    sizes = [source.randint(20, 60) for _ in range(60)][30:]
    boxes = [Host(f"box{n}", {"VCPU": 100}, "host") for n in range(13)]
    asked = [group(f"_{n}", VCPU=size) for n, size in enumerate(sizes)]
    tree = tree_of([Host("host"), *boxes], *asked)
    patience = Patience()
    left = []
    for _ in range(3):
        assert chosen(tree, patience, most=1) == []
        left.append(patience.left)
    assert 300_000 > left[0] > left[1] > left[2] > 250_000
    assert Patience(left=0).with_a_tree(30) > 30**2
