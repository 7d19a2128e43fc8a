# SPDX-License-Identifier: Apache-2.0
"""Steps are written side by side only where their order does not matter."""

import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

import pytest

from tests.scenarios.drafting import OWNER
from trueup.reconcile.facts import Allocations
from trueup.reconcile.files import is_there
from trueup.reconcile.runs.pace import (
    CREATED_TOGETHER,
    EASED_SECONDS_MAX,
    ONE_BY_ONE,
    Pace,
    Throttle,
    batches,
    bundles,
)
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
    alone = ((one,) for one in steps)
    found = batches(alone, size)
    assert ["".join(one.id for bundle in group for one in bundle) for group in found] == groups


def created(name: str, owner: Mapping[str, str] = OWNER, needs: tuple[str, ...] = ()) -> Step:
    """A step that gives one VCPU to a consumer that Placement does not know."""
    after = Held({name: Allocations({"p": {"VCPU": 1}}, **owner)})
    change = Change(AllocationsOf((name,)), Held({name: None}), after, {name: None})
    return Step(name, (change,), (), (), needs)


TYPED = {**OWNER, "consumer_type": "INSTANCE"}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], []),
        ([created("a"), created("b"), created("c")], ["abc"]),
        ([created("a"), step("b", "", "p"), created("c"), created("d")], ["a", "b", "cd"]),
        ([created("a"), created("b", TYPED), created("c", TYPED)], ["a", "bc"]),
        ([created("a"), created("b", needs=("a",)), created("c")], ["a", "b", "c"]),
        ([created("a"), created("a")], ["a", "a"]),
    ],
)
def test_only_creations_of_one_kind_are_written_together(steps, expected):
    found = bundles(steps, ONE_BY_ONE)
    assert ["".join(one.id for one in bundle) for bundle in found] == expected


def test_a_bundle_is_not_endless_and_a_rate_is_one_of_steps():
    steps = [created(f"c{number}") for number in range(CREATED_TOGETHER + 1)]
    assert [len(one) for one in bundles(steps, Pace(concurrency=4))] == [CREATED_TOGETHER, 1]
    assert {len(one) for one in bundles(steps, Pace(per_second=10))} == {1}


def test_a_throttle_lets_no_more_through_than_the_pace_allows():
    throttle = Throttle(Pace(concurrency=3, per_second=50))
    began = time.monotonic()

    def step() -> None:
        with throttle.turn():
            pass

    threads = [Thread(target=step) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 5 / 50


class Time:
    """A clock that moves only while somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if seconds:
            self.slept.append(seconds)


def waits(pace: Pace, works: list[float]) -> list[float]:
    """For how long a throttle lets wait before each step, and after all, if steps take so long."""
    time = Time()
    throttle = Throttle(pace, time.clock, time.sleep)
    found = []
    for seconds in [*works, 0.0]:
        before = time.now
        throttle.hold()
        found.append(time.now - before)
        with throttle.turn():
            time.now += seconds
    return found


def test_slow_answers_slow_a_run_down_until_they_are_quick_again():
    works = [0.1, 3.0, 3.0, 3.0, 0.1, 0.1]
    assert waits(Pace(slow_after=2.0), works) == pytest.approx([0, 0, 3, 6, 12, 0, 0])


def test_a_run_never_waits_for_ever_for_slow_services():
    assert max(waits(Pace(slow_after=2.0), [5.0] * 9)) == EASED_SECONDS_MAX


def test_without_a_limit_no_step_is_too_slow():
    assert waits(Pace(), [100.0] * 3) == [0, 0, 0, 0]


def test_a_pause_lasts_as_long_as_its_file_and_is_told_once(tmp_path):
    file, told, slept = tmp_path / "pause", [], []
    file.touch()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            file.unlink()

    throttle = Throttle(Pace(pause=file, paused=told.append), sleep=sleep)
    throttle.hold()
    throttle.hold()
    assert len(slept) == 3
    assert told == [file]


def test_a_pause_may_be_anything_that_has_its_name(tmp_path):
    """A folder, a link to nothing, or a name that may not be looked up."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert is_there(tmp_path / "folder")
    assert is_there(tmp_path / "link")
    assert not is_there(tmp_path / "nowhere")
    assert not is_there(tmp_path / "nowhere" / "pause")
    assert is_there(Path(f"{tmp_path}/{'x' * 300}")), "it cannot be said not to be there"
