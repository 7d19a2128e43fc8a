# SPDX-License-Identifier: Apache-2.0
"""Steps are written side by side only where their order does not matter."""

import time
from threading import Thread

import pytest

from tests.scenarios.drafting import OWNER
from trueup.reconcile.facts import Allocations
from trueup.reconcile.pace import Pace, Throttle, batches
from trueup.reconcile.steps import AllocationsOf, Change, Held, Step


def step(name: str, before: str = "", after: str = "", needs: tuple[str, ...] = ()) -> Step:
    """A step that takes one VCPU of a provider, or gives one back."""

    def held(provider: str) -> Held:
        amounts = {provider: {"VCPU": 1}}
        return Held({name: Allocations(amounts, **OWNER) if provider else None})

    change = Change(AllocationsOf((name,)), held(before), held(after), {name: 1})
    return Step(name, (change,), (), (), needs)


@pytest.mark.parametrize(
    ("steps", "size", "groups"),
    [
        ([], 4, []),
        ([step("a", "p"), step("b", "p"), step("c", "p")], 2, ["ab", "c"]),
        ([step("a", "p"), step("b", "p"), step("c", "p")], 1, ["a", "b", "c"]),
        ([step("a", "", "p"), step("b", "", "p")], 4, ["ab"]),
        ([step("a", "p"), step("b", "", "p"), step("c", "", "p")], 4, ["a", "bc"]),
        ([step("a", "p"), step("b", "", "q")], 4, ["ab"]),
        ([step("a", "p"), step("b", "q", needs=("a",))], 4, ["a", "b"]),
        ([step("a", "p", "q"), step("a", "q", "p")], 4, ["a", "a"]),
    ],
)
def test_what_depends_on_another_comes_after_it(steps, size, groups):
    assert ["".join(one.id for one in group) for group in batches(steps, size)] == groups


def test_a_throttle_lets_no_more_through_than_the_pace_allows():
    throttle = Throttle(Pace(concurrency=3, per_second=50))
    began = time.monotonic()
    threads = [Thread(target=throttle.wait) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 5 / 50
