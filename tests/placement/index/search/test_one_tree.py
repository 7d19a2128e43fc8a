# SPDX-License-Identifier: Apache-2.0
import itertools
import random

from tests.placement.index.clouds import Host, group
from tests.placement.index.search.problems import Tree, tree_of
from trueup.placement.index.search.one_tree import SearchBudget, candidates_of_tree
from trueup.placement.index.search.partial_candidate import Candidate


def found_in(tree: Tree, budget: SearchBudget | None = None, most: int = 1000) -> list[Candidate]:
    problem, offers = tree.partial.problem, tree.partial.offers
    candidates = candidates_of_tree(problem, offers, budget or SearchBudget())
    return list(itertools.islice(candidates, most))


def test_slots_without_constraints_are_a_product() -> None:
    cloud = [Host("host", {"DISK_GB": 9}), *(Host(f"n{n}", {"VCPU": 8}, "host") for n in range(3))]
    assert len(found_in(tree_of(cloud, group(DISK_GB=1, VCPU=1)))) == 3


def test_isolated_groups_never_share_a_provider() -> None:
    cloud = [Host("host"), *(Host(f"numa{n}", {"VCPU": 8}, "host") for n in range(3))]
    tree = tree_of(cloud, group("1", VCPU=1), group("2", VCPU=1), isolate=True)
    found = found_in(tree)
    assert len(found) == 6
    assert all(first != second for first, second in found)


def test_free_slots_are_combined_with_each_dependent_choice() -> None:
    cloud = [
        Host("host"),
        *(Host(f"numa{n}", {"VCPU": 8}, "host") for n in range(3)),
        *(Host(f"disk{n}", {"DISK_GB": 8}, "host") for n in range(4)),
    ]
    asked = (group(DISK_GB=1), group("1", VCPU=5), group("2", VCPU=5))
    assert len(set(found_in(tree_of(cloud, *asked)))) == 4 * 6


def test_the_only_candidate_among_millions_of_combinations_is_found() -> None:
    """Twelve groups on twelve devices: one for each, and each group may use two of them."""
    gpu = {"PGPU": 1}
    cards = [Host(f"gpu{n}", gpu, "host", aggregates=(f"{n}", f"{n + 1}")) for n in range(12)]
    asked = [group(f"_{n}", PGPU=1, member_of=str(n + 1)) for n in range(12)]
    budget = SearchBudget()
    found = found_in(tree_of([Host("host"), *cards], *asked), budget)
    assert len(found) == 1
    assert budget.tries_left > 310_000


def test_an_impossible_request_is_detected_before_all_is_tried() -> None:
    """Nine groups, but eight devices for all of them; some groups could use others as well."""
    cards = [Host(f"gpu{n}", {"PGPU": 1}, "host", ("RED",)) for n in range(8)]
    cards += [Host(f"old{n}", {"PGPU": 1}, "host") for n in range(8)]
    red = [group(f"_{n}", PGPU=1, required="RED") for n in range(4)]
    either = [group(f"_E{n}", PGPU=1, required="RED|FAST") for n in range(5)]
    budget = SearchBudget()
    assert found_in(tree_of([Host("host"), *cards], *red, *either), budget) == []
    assert budget.tries_left > 310_000


def test_the_budget_ends() -> None:
    """Boxes of 100 for things of 20 to 60: there is space for all, but they hardly fit."""
    source = random.Random(1)
    sizes = [source.randint(20, 60) for _ in range(60)][30:]
    boxes = [Host(f"box{n}", {"VCPU": 100}, "host") for n in range(13)]
    asked = [group(f"_{n}", VCPU=size) for n, size in enumerate(sizes)]
    tree = tree_of([Host("host"), *boxes], *asked)
    budget = SearchBudget()
    left = []
    for _ in range(3):
        assert found_in(tree, budget, most=1) == []
        left.append(budget.tries_left)
    assert 300_000 > left[0] > left[1] > left[2] > 250_000
    assert SearchBudget(tries_left=0).for_tree(30) > 30**2
