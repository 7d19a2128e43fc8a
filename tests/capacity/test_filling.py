# SPDX-License-Identifier: Apache-2.0
"""Placing servers of several kinds on hosts, and taking that back."""

from tests.capacity.test_counting import HOSTS, facts_of
from tests.scenarios.names import uuid_of
from trueup.capacity.asked import asked_of_amounts
from trueup.capacity.counting import Bind, ground
from trueup.capacity.filling import Filling

LARGE, SMALL = asked_of_amounts({"VCPU": 5}), asked_of_amounts({"VCPU": 2})


def test_what_was_placed_is_taken_back_and_what_is_held_is_given_back():
    ready = ground(facts_of(HOSTS + "holds web h2 VCPU=2"), [LARGE.request, SMALL.request])
    filling = Filling(ready, [LARGE, SMALL])

    def on_first(asked) -> str:
        place = filling.on_first(asked, ready.hosts)
        return place.host if place else ""

    assert (on_first(SMALL), on_first(LARGE), on_first(LARGE)) == ("h1", "h1", "")
    assert filling.binds(LARGE, ready.hosts) == {(Bind.CLASS, "VCPU"): 3}
    filling.take_back()
    assert (on_first(LARGE), on_first(LARGE)) == ("h1", "")
    assert on_first(SMALL) == "h1"
    filling.release(uuid_of("web"))
    assert [on_first(SMALL) for _ in range(4)] == ["h2", "h2", "h3", ""]
