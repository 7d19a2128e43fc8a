# SPDX-License-Identifier: Apache-2.0
import itertools

from tests.placement.index.clouds import Host, group, view_of
from trueup.model.requests import CandidateRequest
from trueup.placement.index.combine import Order, combine
from trueup.placement.index.match import match_request


def test_candidates_are_made_when_they_are_asked_for() -> None:
    """There are 30! of them."""
    cloud = [Host("host"), *(Host(f"gpu{n}", {"PGPU": 1}, "host") for n in range(30))]
    request = CandidateRequest(tuple(group(str(number), PGPU=1) for number in range(30)))
    view = view_of(cloud)
    slots = match_request(request, view)
    found = list(itertools.islice(combine(request, slots, view, Order()), 5))
    assert len(set(found)) == 5
    assert all(len(set(choice)) == 30 for choice in found)


def test_isolated_groups_never_meet() -> None:
    cloud = [Host("host"), *(Host(f"numa{n}", {"VCPU": 8}, "host") for n in range(3))]
    request = CandidateRequest((group("1", VCPU=1), group("2", VCPU=1)), isolate=True)
    view = view_of(cloud)
    found = list(combine(request, match_request(request, view), view, Order()))
    assert len(found) == 6
    assert all(first != second for first, second in found)


def test_a_random_order_still_finds_all() -> None:
    cloud = [Host(f"host{number}", {"VCPU": 8}) for number in range(9)]
    request = CandidateRequest((group(VCPU=1),))
    view = view_of(cloud)
    slots = match_request(request, view)
    assert sorted(combine(request, slots, view, Order(randomize=True))) == [(n,) for n in range(9)]
