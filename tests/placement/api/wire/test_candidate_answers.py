# SPDX-License-Identifier: Apache-2.0
"""The text is what a serializer would make of the same answer."""

from collections.abc import Iterable
from typing import Any

import orjson

from trueup.model.candidates import Candidates, StockColumns, Summaries, Tell
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.api.versions import V
from trueup.placement.api.wire.candidate_answers import render

ASKED = CandidateRequest((RequestGroup(resources=(("VCPU", 1), ("DISK_GB", 2))),))
PARTS = (
    ("", (("VCPU", 1),)),
    ("", (("DISK_GB", 2),)),
    ("_A", (("VCPU", 4), ("PGPU", 1))),
    ("_NODE", ()),
)


class Told:
    """Providers of which nothing was told before."""

    def __init__(self, *summaries: Summaries):
        self.summaries = summaries

    def told(self, tell: Tell, *, kept: bool) -> Iterable[bytes]:
        return [text for one in self.summaries for text in tell(one)]


def answer(found: Candidates, version: V = V.ANY_TRAITS) -> dict[str, Any]:
    return orjson.loads(render(found, ASKED, version))


def candidates(version: V, *choices: tuple[int, ...]) -> list[Any]:
    found = Candidates(Told(), PARTS, choices, ("a", "b", "c"))
    return answer(found, version)["allocation_requests"]


def test_an_answer_without_candidates_is_complete() -> None:
    assert answer(Candidates(Told())) == {"allocation_requests": [], "provider_summaries": {}}


def test_amounts_on_one_provider_add_up() -> None:
    (found,) = candidates(V.MAPPINGS, (0, 0, 0, 1))
    assert found == {
        "allocations": {"a": {"resources": {"VCPU": 5, "DISK_GB": 2, "PGPU": 1}}},
        "mappings": {"": ["a"], "_A": ["a"], "_NODE": ["b"]},
    }


def test_each_way_to_share_providers_has_its_own_form() -> None:
    apart, joined = candidates(V.MAPPINGS, (0, 1, 2, 2), (2, 1, 1, 0))
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
    (found,) = candidates(V.CANDIDATES, (0, 1, 1, 1))
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
    found = candidates(V.MAPPINGS, *[(0, 1, 2, 2)] * 10_000)
    assert len(found) == 10_000
    assert all(one == found[0] for one in found)


def summaries(version: V) -> dict[str, Any]:
    host = Summaries(
        uuids=("host",),
        root_uuids=("host",),
        parent_uuids=(None,),
        traits=(("FAST", "RED"),),
        stocks=(StockColumns("VCPU", [8], [3]), StockColumns("PGPU", [2], [0])),
    )
    bare = Summaries(("card",), ("host",), ("host",), ((),), ())
    found = Candidates(Told(host, bare))
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
    """The API refuses such names; rows that something else wrote may have them."""
    odd = 'a"b\\%s%'
    some = Summaries((odd,), (odd,), (odd,), ((odd,),), (StockColumns(odd, [1], [0]),))
    found = answer(Candidates(Told(some), ((odd, ((odd, 1),)),), [(0,)], (odd,)))
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
