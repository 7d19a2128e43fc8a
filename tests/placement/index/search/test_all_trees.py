# SPDX-License-Identifier: Apache-2.0
from tests.placement.index.clouds import SHARES, Host, group, view_of
from tests.placement.index.search.problems import problem_of
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search.all_trees import (
    GenerationOptions,
    candidates_of_all_trees,
    one_by_one,
    single_slot,
)
from trueup.placement.index.search.match import match_request
from trueup.placement.index.search.partial_candidate import Candidate
from trueup.placement.index.view.columns import View

ROUND_ROBIN, DEPTH_FIRST, RANDOM = (
    GenerationOptions(),
    GenerationOptions(breadth_first=False),
    GenerationOptions(randomize=True),
)
POOLS = [Host(f"pool{n}", {"DISK_GB": 9}, traits=(SHARES,), aggregates=("all",)) for n in (1, 2)]
HOSTS = [Host(f"host{n}", {"VCPU": 8}, aggregates=("all",)) for n in (1, 2, 3)]


def found(
    request: CandidateRequest, view: View, options: GenerationOptions, most: int = 1000
) -> list[Candidate]:
    slots = match_request(request, view)
    if len(slots) == 1:
        return [(position,) for position in single_slot(slots[0], view, options).tolist()]
    problem = problem_of(request, view)
    columns = candidates_of_all_trees(problem, view, options, most)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    if not options.randomize:
        others = one_by_one(problem, view, options, most)
        assert rows == list(zip(*(column.tolist() for column in others), strict=True))
    return rows


def test_no_more_candidates_are_made_than_are_asked_for() -> None:
    """There are 30! of them."""
    cloud = [Host("host"), *(Host(f"gpu{n}", {"PGPU": 1}, "host") for n in range(30))]
    request = CandidateRequest(tuple(group(str(number), PGPU=1) for number in range(30)))
    some = found(request, view_of(cloud), ROUND_ROBIN, 5)
    assert len(set(some)) == 5
    assert all(len(set(candidate)) == 30 for candidate in some)


def test_trees_take_turns() -> None:
    cards = [Host(f"card{n}{m}", {"PGPU": 1}, f"host{n}") for n in (1, 2, 3) for m in (1, 2)]
    view = view_of([*HOSTS, *cards])
    one = CandidateRequest((group(PGPU=1),))
    two = CandidateRequest((group(PGPU=1, VCPU=1),))
    for request in (one, two):
        roots = {
            options: [
                int(view.forest.roots[candidate[0]]) for candidate in found(request, view, options)
            ]
            for options in (ROUND_ROBIN, DEPTH_FIRST)
        }
        trees = sorted(set(roots[DEPTH_FIRST]))
        assert roots[ROUND_ROBIN] == trees * 2
        assert roots[DEPTH_FIRST] == [root for root in trees for _ in range(2)]


def test_a_random_order_finds_all_candidates() -> None:
    view = view_of(HOSTS + POOLS)
    for asked in ({"VCPU": 1}, {"VCPU": 1, "DISK_GB": 1}, {"DISK_GB": 1}):
        request = CandidateRequest((group(**asked),))
        assert sorted(found(request, view, RANDOM)) == sorted(found(request, view, DEPTH_FIRST))


def test_candidates_of_sharing_providers_alone_are_found_once() -> None:
    view = view_of(HOSTS + POOLS)
    one = CandidateRequest((group(DISK_GB=1),))
    two = CandidateRequest((group(DISK_GB=1), group("1", DISK_GB=2)))
    for options in (ROUND_ROBIN, DEPTH_FIRST, RANDOM):
        assert len(found(one, view, options)) == 2
        assert len(found(two, view, options)) == 4


def test_candidates_that_are_partly_shared_are_found_for_each_tree() -> None:
    hosts = [Host(f"big{n}", {"DISK_GB": 9}, aggregates=("all",)) for n in (1, 2)]
    request = CandidateRequest((group(DISK_GB=1), group("1", DISK_GB=2)))
    view = view_of(hosts + POOLS)
    candidates = found(request, view, ROUND_ROBIN)
    # Each host with itself or a pool, in both slots; the pools among themselves.
    assert len(candidates) == len(set(candidates)) == 2 * (3 * 3 - 2 * 2) + 2 * 2
