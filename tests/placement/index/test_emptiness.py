# SPDX-License-Identifier: Apache-2.0
"""The reason of an empty answer is about the filter that `trueup why` names."""

import pytest

from tests.placement.index.clouds import SHARES, Host, group, view_of
from tests.placement.index.search.test_candidates import questions
from trueup.model.requests import CandidateRequest
from trueup.placement.index import emptiness
from trueup.placement.index.emptiness import LastReasons
from trueup.placement.why.explain import explain

HOSTS = [
    Host("compute1", {"VCPU": 8, "MEMORY_MB": 64}, traits=("FAST",)),
    Host("compute2", {"VCPU": 8, "MEMORY_MB": 64}, aggregates=("rack",)),
    Host("pool", {"DISK_GB": 10}, traits=(SHARES,), aggregates=("rack",)),
    Host("gpu", {"PGPU": 1}, "compute1"),
]


def test_it_is_the_filter_that_leaves_out_the_last_host():
    silent = 0
    for question, cloud, request in questions():
        view = view_of(cloud)
        found = explain(request, view)
        if not found.left:
            silent += 1
            decisive = next(step.filter for step in found.steps if not step.left)
            assert emptiness.emptiness(request, view).filter == decisive, question
    assert silent > 350


@pytest.mark.parametrize(
    ("asked", "wide", "reason"),
    [
        ([group(VCPU=9)], {}, "capacity"),
        ([group(SRIOV_NET_VF=1)], {}, "class"),
        ([group(DISK_GB=11)], {}, "sharing"),
        ([group(VCPU=1, required="SMALL")], {}, "trait"),
        ([group(VCPU=1, PGPU=1, forbidden="FAST")], {}, "trait"),
        ([group(VCPU=1, member_of="rack", required="FAST")], {}, "aggregate"),
        ([group(VCPU=1, required="FAST", in_tree="compute2")], {}, "tree"),
        ([group("1", VCPU=1), group("2", VCPU=1)], {"isolate": True}, "group"),
        ([group(VCPU=1)], {"root_required": frozenset({"RED"})}, "trait"),
    ],
)
def test_reasons(asked, wide, reason):
    request = CandidateRequest(groups=tuple(asked), **wide)
    assert emptiness.emptiness(request, view_of(HOSTS)).reason == reason


def test_the_same_request_about_the_same_view_is_searched_once(monkeypatch):
    view, request = view_of(HOSTS), CandidateRequest(groups=(group(VCPU=9),))
    last = LastReasons()
    first = last.of(request, view)
    monkeypatch.setattr(emptiness, "emptiness", None)
    assert last.of(request, view) == first
    monkeypatch.undo()
    roomy = view_of([Host("big", {"MEMORY_MB": 64})])
    assert last.of(request, roomy).reason == "class"
