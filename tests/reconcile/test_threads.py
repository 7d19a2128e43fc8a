# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import Future
from threading import Event

import pytest

from trueup.reconcile.threads import threads


def test_ctrl_c_does_not_wait_for_a_source_and_asks_nothing_more():
    under_way, answers = Event(), Event()
    asked = []

    def ask(number: int) -> None:
        asked.append(number)
        under_way.set()
        assert answers.wait(60)

    def interrupted() -> None:
        with threads(1) as pool:
            submitted.extend(pool.submit(ask, number) for number in range(2))
            assert under_way.wait(60)
            raise KeyboardInterrupt

    submitted: list[Future[None]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    first, second = submitted
    assert not first.done()
    assert second.cancelled()
    answers.set()
    first.result()
    assert asked == [0]


def test_after_an_error_what_is_under_way_is_waited_for():
    asked: list[Future[bool]] = []

    def failing() -> None:
        with threads(2) as pool:
            asked.append(pool.submit(Event().wait, 0.01))
            raise ValueError("the other")

    with pytest.raises(ValueError, match="the other"):
        failing()
    assert asked[0].done()
