# SPDX-License-Identifier: Apache-2.0
from datetime import timedelta

from tests.reconcile.watch.watching import MINUTE, at
from trueup.reconcile.watch.memory import Memory, after_failure
from trueup.reconcile.watch.status import STUCK_AFTER, WatchStatus


def test_it_is_ready_from_the_first_success_on():
    failed = WatchStatus(after_failure(Memory(), at(0), 1.0, "it is down"), MINUTE)
    assert failed.not_ready() == "no round has succeeded yet: it is down"
    assert WatchStatus(failed.memory, MINUTE, last_success=at(1)).not_ready() == ""


def test_it_is_alive_until_a_round_takes_too_long():
    idle = WatchStatus(Memory(), MINUTE)
    assert idle.not_alive(at(10**6)) == ""
    busy = WatchStatus(Memory(), MINUTE, running_since=at(0))
    assert busy.not_alive(at(0) + STUCK_AFTER) == ""
    assert "since 2026-11-21 12:00:00" in busy.not_alive(at(0) + STUCK_AFTER + timedelta(seconds=1))
