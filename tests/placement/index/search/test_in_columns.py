# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tests.placement.index.clouds import Host, group, view_of
from tests.placement.index.search.problems import drawn_problems, problem_of
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.all_trees import GenerationOptions, one_by_one
from trueup.placement.index.search.checks import Columns
from trueup.placement.index.search.in_columns import candidates_in_columns


def rows(columns: Columns | None) -> list[tuple[int, ...]]:
    assert columns is not None
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("most", [1, 3, 7, 1000])
def test_they_are_those_that_are_found_one_by_one_in_the_same_order(most: int) -> None:
    compared = 0
    for seed, view, problem in drawn_problems(600):
        if view.shared_with:
            continue
        expected = rows(one_by_one(problem, view, GenerationOptions(), most))
        found = candidates_in_columns(problem, most, randomize=False)
        assert rows(found) == expected, f"seed {seed}"
        mixed = candidates_in_columns(problem, most, randomize=True)
        assert len(set(rows(mixed))) == len(expected), f"seed {seed}"
        compared += bool(expected)
    assert compared > 100


def test_trees_with_few_candidates_leave_turns_to_the_others() -> None:
    """One, two, and so on up to nine candidates in a tree; the last turns are of the last trees."""
    cloud = [Host(f"host{n}", {"VCPU": 8}) for n in range(1, 10)]
    cloud += [Host(f"gpu{n}_{m}", {"PGPU": 1}, f"host{n}") for n in range(1, 10) for m in range(n)]
    view = view_of(cloud)
    problem = problem_of(CandidateRequest((group(VCPU=1), group("_A", PGPU=1))), view)
    for most in range(1, 50):
        found = candidates_in_columns(problem, most, randomize=False)
        assert rows(found) == rows(one_by_one(problem, view, GenerationOptions(), most))
        assert len(rows(found)) == min(most, 45)


def test_a_tree_is_searched_again_if_its_first_choices_lead_nowhere() -> None:
    """Only the last of twenty nodes has the trait, which is known when a card is chosen, too."""
    nodes = [Host(f"node{n}", {"VCPU": 4}, "host") for n in range(20)]
    cards = [Host(f"card{n}", {"SRIOV_NET_VF": 2}, "host") for n in range(21)]
    fast = Host("fast", {"VCPU": 4}, "host", traits=("FAST",))
    asked = CandidateRequest((group(VCPU=1, SRIOV_NET_VF=1, required="FAST"),))
    view = view_of([Host("host"), *nodes, fast, *cards])
    problem = problem_of(asked, view)
    found = rows(candidates_in_columns(problem, 10, randomize=False))
    assert found == rows(one_by_one(problem, view, GenerationOptions(), 10))
    assert {view.forest.by_uuid["fast"]} == {row[0] for row in found}


def test_it_gives_up_where_nearly_all_choices_would_be_thrown_away() -> None:
    """Each of 2000 devices would be combined with each of them."""
    gpus = [Host(f"gpu{n}", {"PGPU": 1}, "host") for n in range(2000)]
    asked = CandidateRequest(tuple(group(f"_{n}", PGPU=1) for n in range(20)))
    problem = problem_of(asked, view_of([Host("host"), *gpus]))
    assert candidates_in_columns(problem, 10, randomize=False) is None


@pytest.mark.parametrize("most", [17, 1000, 7812])
def test_it_gives_up_where_a_few_providers_have_room_for_many_slots(most: int) -> None:
    """One by one, each candidate differs from the one before in its last slots alone."""
    gpus = [Host(f"gpu{n}", {"PGPU": 1000}, "host") for n in range(16)]
    asked = CandidateRequest(tuple(group(f"_{n}", PGPU=1) for n in range(64)))
    problem = problem_of(asked, view_of([Host("host"), *gpus]))
    assert candidates_in_columns(problem, most, randomize=False) is None


def test_a_random_order_begins_with_any_tree_and_any_offer() -> None:
    cloud = [Host(f"host{n}", {"VCPU": 8}) for n in range(20)]
    cloud += [Host(f"gpu{n}{m}", {"PGPU": 1}, f"host{n}") for n in range(20) for m in range(5)]
    view = view_of(cloud)
    problem = problem_of(CandidateRequest((group(VCPU=1), group("_A", PGPU=1))), view)
    columns = candidates_in_columns(problem, 10, randomize=True)
    assert columns is not None
    roots = view.forest.roots[columns[0]].tolist()
    assert len(set(roots)) == 10
    offers = set()
    for _ in range(20):
        columns = candidates_in_columns(problem, 20, randomize=True)
        assert columns is not None
        offers |= set(np.concatenate(columns).tolist())
    assert len(offers) > 20 + 20 * 3
