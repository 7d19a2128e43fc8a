# SPDX-License-Identifier: Apache-2.0
"""The search finds what the definition of a candidate says, and nothing else."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.placement.index.answers import candidates, choices, spelled, summaries
from tests.placement.index.clouds import SHARES, Host, ask, group, view_of
from tests.placement.index.forests import draw_forest, draw_request
from tests.placement.index.naive import naive_candidates
from trueup.model.candidates import Candidates
from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import CandidateRequest
from trueup.placement.index.search import all_trees
from trueup.placement.index.search.all_trees import GenerationOptions
from trueup.placement.index.search.candidates import ALLOCATIONS_MAX, find_candidates
from trueup.placement.index.search.partial_candidate import PartialCandidate

EXAMPLES = os.environ.get("TRUEUP_EXAMPLES")


def is_nothing(found: Candidates) -> bool:
    return not found.count and not summaries(found)


def questions() -> Iterator[tuple[str, list[Host], CandidateRequest]]:
    """1500, the same in each run; with TRUEUP_EXAMPLES, ten times as many, new in each run."""
    first = random.randrange(2**40) if EXAMPLES else 0
    for seed in range(first, first + (int(EXAMPLES) * 10 if EXAMPLES else 1500)):
        source = random.Random(seed)
        cloud, classes = draw_forest(source)
        request = draw_request(source, cloud, classes)
        yield f"seed {seed}: {request} of {cloud}", cloud, request


@pytest.mark.parametrize("few", [0, 10**9], ids=["in columns", "one by one"])
def test_invariant_4_search_finds_what_the_definition_says(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both ways: candidates that are more than a few are found in columns."""
    monkeypatch.setattr(all_trees, "_FEW", few)
    answered = 0
    for question, cloud, request in questions():
        expected = naive_candidates(cloud, request)
        answered += bool(expected)
        view = view_of(cloud)
        for options in (
            GenerationOptions(),
            GenerationOptions(breadth_first=False),
            GenerationOptions(randomize=True),
        ):
            found = candidates(find_candidates(request, view, options))
            assert len(found) == len(set(found)), question
            assert set(found) == expected, question
        some = candidates(find_candidates(replace(request, limit=3), view, GenerationOptions()))
        assert set(some) <= expected, question
        assert len(set(some)) == len(some) == min(3, len(expected)), question
    assert answered > 350


RACK = [
    Host("rack1", {"VCPU": 8, "MEMORY_MB": 64}),
    Host("rack2", {"VCPU": 8, "MEMORY_MB": 64}, used={"VCPU": 7}),
    Host("disks", {"DISK_GB": 100}, traits=(SHARES,), aggregates=("pool",)),
]


def test_only_hosts_with_enough_free_inventory_are_offered() -> None:
    assert spelled(ask(RACK, group(VCPU=4))) == ["rack1:VCPU=4"]


def test_sharing_reaches_members_of_the_aggregate() -> None:
    assert is_nothing(ask(RACK, group(VCPU=1, DISK_GB=5)))
    joined = [Host("rack1", {"VCPU": 8}, aggregates=("pool",)), *RACK[1:]]
    assert spelled(ask(joined, group(VCPU=1, DISK_GB=5))) == ["disks:DISK_GB=5 rack1:VCPU=1"]


def test_candidates_of_sharing_providers_alone_are_offered_once() -> None:
    joined = [Host(f"rack{n}", {"VCPU": 8}, aggregates=("pool",)) for n in (1, 2)] + RACK[2:]
    assert spelled(ask(joined, group(DISK_GB=5))) == ["disks:DISK_GB=5"]


def test_the_limit_stops_the_search_and_keeps_the_summaries_small() -> None:
    cloud = [Host(f"host{number}", {"VCPU": 8}) for number in range(50)]
    found = ask(cloud, group(VCPU=1), limit=3)
    assert found.count == 3
    assert len(summaries(found)) == 3


def test_summaries_show_the_whole_tree() -> None:
    cloud = [
        Host("host", {"VCPU": 8}, traits=("RED", "FAST")),
        Host("nic", {"SRIOV_NET_VF": 4}, "host", used={"SRIOV_NET_VF": 1}),
        Host("other", {"VCPU": 1}),
    ]
    assert summaries(ask(cloud, group(VCPU=2))) == {
        "host": {
            "root": "host",
            "parent": None,
            "traits": ("FAST", "RED"),
            "resources": {"VCPU": (8, 0)},
        },
        "nic": {
            "root": "host",
            "parent": "host",
            "traits": (),
            "resources": {"SRIOV_NET_VF": (4, 1)},
        },
    }


def test_amounts_of_several_slots_are_counted_by_class() -> None:
    """Two classes with different amounts, and slots that are filled in another order."""
    cloud = [Host("host", {"VCPU": 1, "DISK_GB": 2}), Host("numa", {"VCPU": 1}, "host")]
    asked = group(VCPU=1, DISK_GB=1), group("_A", VCPU=1, DISK_GB=1)
    assert spelled(ask(cloud, *asked)) == ["host:DISK_GB=2 host:VCPU=1 numa:VCPU=1"]


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ResourceClassNotFound):
        ask(RACK, group(NOBODY=1))
    with pytest.raises(TraitNotFound):
        ask(RACK, group(VCPU=1, required="NOBODY"))
    with pytest.raises(TraitNotFound):
        ask(RACK, group(VCPU=1), root_forbidden=frozenset({"NOBODY"}))


def test_a_group_without_resources_must_require_something() -> None:
    cloud = [Host("host", {"VCPU": 8}), Host("numa", {}, "host", traits=("FAST",))]
    together = (frozenset({"1", "2"}),)
    asked = group("1", VCPU=1)
    assert spelled(ask(cloud, asked, group("2", required="FAST"), same_subtrees=together)) == [
        "host:VCPU=1"
    ]
    assert spelled(ask(cloud, asked, group("2", forbidden="RED"), same_subtrees=together)) == []


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each provider that is tried for a slot."""
    tried: list[int] = []
    add = PartialCandidate.add

    def counted(partial: PartialCandidate, position: int) -> bool:
        tried.append(position)
        return add(partial, position)

    monkeypatch.setattr(PartialCandidate, "add", counted)
    return tried


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(("groups", "devices", "limit"), [(8, 8, 1), (8, 16, 10), (64, 2000, 10)])
def test_invariant_5_cost_follows_the_answer(
    groups: int, devices: int, limit: int, isolate: bool, tries: list[int]
) -> None:
    """A slot skips the devices of earlier slots, and no slot is tried again without a result."""
    gpus = [Host(f"gpu{number}", {"PGPU": 1}, "host") for number in range(devices)]
    asked = [group(f"_{number}", PGPU=1) for number in range(groups)]
    found = ask([Host("host"), *gpus], *asked, limit=limit, isolate=isolate)
    assert found.count == limit
    assert len(tries) <= groups * (groups + 1) // 2 + limit * 2 * groups


def test_invariant_5_trees_that_are_not_wanted_are_not_searched(tries: list[int]) -> None:
    cloud = [Host(f"host{number}") for number in range(300)]
    cloud += [Host(f"host{n}_gpu{m}", {"PGPU": 1}, f"host{n}") for n in range(300) for m in (1, 2)]
    found = ask(cloud, group("_A", PGPU=1), group("_B", PGPU=1), limit=5)
    assert found.count == 5
    assert len({choice[0].partition("_")[0] for choice in choices(found)}) == 5
    assert len(tries) == 5 * 3


def test_an_answer_has_a_maximum_of_allocations() -> None:
    gpus = [Host(f"gpu{number}", {"PGPU": 1}, "host") for number in range(90)]
    found = ask([Host("host"), *gpus], *[group(f"_{number}", PGPU=1) for number in range(64)])
    assert found.count == ALLOCATIONS_MAX // 64


def test_many_groups_on_many_devices_cost_what_they_answer() -> None:
    """12 ** 12 combinations, of which 10 are wanted."""
    devices = [Host(f"gpu{number}", {"PGPU": 1}, "host") for number in range(12)]
    asked = [group(str(number), PGPU=1) for number in range(12)]
    found = ask([Host("host"), *devices], *asked, limit=10)
    assert found.count == 10
    too_many = [*asked, group("12", PGPU=1)]
    assert is_nothing(ask([Host("host"), *devices], *too_many, limit=10))


def test_trees_take_turns_with_breadth_first() -> None:
    cloud = [Host("host1"), Host("host2")]
    cloud += [Host(f"{name}{n}", {"PGPU": 1}, f"host{n}") for n in (1, 2) for name in "ab"]
    deep = ask(
        cloud, group(PGPU=1), options=GenerationOptions(candidates_max=2, breadth_first=False)
    )
    wide = ask(cloud, group(PGPU=1), options=GenerationOptions(candidates_max=2))
    assert spelled(deep) == ["a1:PGPU=1", "b1:PGPU=1"]
    assert spelled(wide) == ["a1:PGPU=1", "a2:PGPU=1"]
