# SPDX-License-Identifier: Apache-2.0
"""The text equals a serializer's text of the same answer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from trueup.model.candidates import (
    CandidateColumns,
    Candidates,
    InventoryUsage,
    ProviderSummaries,
    RequestSlot,
    SummaryColumns,
)
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.api.versions import V
from trueup.placement.api.wire.candidate_answers import render
from trueup.placement.api.wire.summary_cache import SummaryCache

ASKED = CandidateRequest((RequestGroup(resources=(("VCPU", 1), ("DISK_GB", 2))),))
SLOTS = (
    ("", (("VCPU", 1),)),
    ("", (("DISK_GB", 2),)),
    ("_A", (("VCPU", 4), ("PGPU", 1))),
    ("_NODE", ()),
)


def summarized(*columns: SummaryColumns) -> ProviderSummaries:
    """Their indexes together must be 0, 1, and so on."""
    count = sum(len(column.indexes) for column in columns)

    def read(indexes: Sequence[int]) -> Iterator[SummaryColumns]:
        assert list(indexes) == list(range(count))
        yield from columns

    return ProviderSummaries(range(count), read)


def answer(found: Candidates, version: V = V.ANY_TRAITS) -> dict[str, Any]:
    return orjson.loads(render(found, ASKED, version, SummaryCache()).joined())


def offered(slots: Sequence[RequestSlot], *requests: Sequence[str]) -> Candidates:
    """An answer with the providers of each slot, for each candidate."""

    def columns(first: int, last: int) -> CandidateColumns:
        def pattern_of(index: int) -> tuple[int, ...]:
            row = requests[first + index]
            return tuple(map(row.index, row))

        indexes = sorted(range(last - first), key=pattern_of)
        uuids = list(zip(*(requests[first + index] for index in indexes), strict=True))
        return CandidateColumns(indexes, uuids, list(Counter(map(pattern_of, indexes)).items()))

    return Candidates(summarized(), tuple(slots), len(requests), columns)


def candidates(version: V, *requests: str) -> list[Any]:
    """Candidates with one letter for the provider of each slot."""
    return answer(offered(SLOTS, *requests), version)["allocation_requests"]


def test_an_answer_without_candidates_is_complete() -> None:
    assert answer(Candidates(summarized())) == {"allocation_requests": [], "provider_summaries": {}}


def test_amounts_on_one_provider_add_up() -> None:
    (found,) = candidates(V.MAPPINGS, "aaab")
    assert found == {
        "allocations": {"a": {"resources": {"VCPU": 5, "DISK_GB": 2, "PGPU": 1}}},
        "mappings": {"": ["a"], "_A": ["a"], "_NODE": ["b"]},
    }


def test_each_way_to_share_providers_has_its_own_template() -> None:
    apart, joined = candidates(V.MAPPINGS, "abcc", "cbba")
    assert apart == {
        "allocations": {
            "a": {"resources": {"VCPU": 1}},
            "b": {"resources": {"DISK_GB": 2}},
            "c": {"resources": {"VCPU": 4, "PGPU": 1}},
        },
        "mappings": {"": ["a", "b"], "_A": ["c"], "_NODE": ["c"]},
    }
    assert joined == {
        "allocations": {
            "c": {"resources": {"VCPU": 1}},
            "b": {"resources": {"DISK_GB": 2, "VCPU": 4, "PGPU": 1}},
        },
        "mappings": {"": ["c", "b"], "_A": ["b"], "_NODE": ["a"]},
    }


def test_allocations_were_a_list_once() -> None:
    (found,) = candidates(V.CANDIDATES, "abbb")
    assert found == {
        "allocations": [
            {"resource_provider": {"uuid": "a"}, "resources": {"VCPU": 1}},
            {
                "resource_provider": {"uuid": "b"},
                "resources": {"DISK_GB": 2, "VCPU": 4, "PGPU": 1},
            },
        ]
    }


def test_many_candidates_are_all_there() -> None:
    found = candidates(V.MAPPINGS, *["abcc"] * 10_000, "cbba")
    assert len(found) == 10_001
    assert all(candidate == found[0] for candidate in found[:-1])
    assert found[-1]["mappings"] == {"": ["c", "b"], "_A": ["b"], "_NODE": ["a"]}


def summaries(version: V) -> dict[str, Any]:
    host = SummaryColumns(
        indexes=(0,),
        uuids=("host",),
        root_uuids=("host",),
        parent_uuids=(None,),
        traits=(("FAST", "RED"),),
        inventories=(InventoryUsage("VCPU", [8], [3]), InventoryUsage("PGPU", [2], [0])),
    )
    bare = SummaryColumns((1,), ("card",), ("host",), ("host",), ((),), ())
    found = Candidates(summarized(host, bare))
    return answer(found, version)["provider_summaries"]


def test_summaries_say_what_the_microversion_knows() -> None:
    vcpu, pgpu = {"capacity": 8, "used": 3}, {"capacity": 2, "used": 0}
    assert summaries(V.CANDIDATES) == {
        "host": {"resources": {"VCPU": vcpu}},
        "card": {"resources": {}},
    }
    assert summaries(V.NESTED_CANDIDATES) == {
        "host": {
            "resources": {"VCPU": vcpu, "PGPU": pgpu},
            "traits": ["FAST", "RED"],
            "parent_provider_uuid": None,
            "root_provider_uuid": "host",
        },
        "card": {
            "resources": {},
            "traits": [],
            "parent_provider_uuid": "host",
            "root_provider_uuid": "host",
        },
    }


def test_no_name_can_break_the_text() -> None:
    """The API refuses such names; rows of other writers may have them."""
    odd = 'a"b\\%s%'
    usage = InventoryUsage(odd, [1], [0])
    some = SummaryColumns((0,), (odd,), (odd,), (odd,), ((odd,),), (usage,))
    candidates = offered([(odd, ((odd, 1),))], [odd])
    found = answer(replace(candidates, summaries=summarized(some)))
    assert found == {
        "allocation_requests": [
            {"allocations": {odd: {"resources": {odd: 1}}}, "mappings": {odd: [odd]}}
        ],
        "provider_summaries": {
            odd: {
                "resources": {odd: {"capacity": 1, "used": 0}},
                "traits": [odd],
                "parent_provider_uuid": odd,
                "root_provider_uuid": odd,
            }
        },
    }


def test_only_summaries_that_changed_are_read_again() -> None:
    asked: list[list[int]] = []

    def read(indexes: Sequence[int]) -> Iterator[SummaryColumns]:
        asked.append(list(indexes))
        names = [("a", "b", "c")[index] for index in indexes]
        nothing = [()] * len(names)
        yield SummaryColumns(indexes, names, names, [None] * len(names), nothing, ())

    cache = SummaryCache()

    def shown(revisions: list[int], version: V = V.ANY_TRAITS) -> list[str]:
        found = Candidates(ProviderSummaries(revisions, read))
        answer = render(found, ASKED, version, cache).joined()
        return list(orjson.loads(answer)["provider_summaries"])

    assert shown([1, 2, 3]) == ["a", "b", "c"]
    assert shown([1, 4, 3]) == ["a", "b", "c"]
    assert shown([1, 4, 3]) == ["a", "b", "c"]
    assert asked == [[0, 1, 2], [1]]
    # Before 1.29 a summary depends on the request, so none is kept.
    assert shown([1, 4, 3], V.CANDIDATES) == ["a", "b", "c"]
    assert asked[2:] == [[0, 1, 2]]
