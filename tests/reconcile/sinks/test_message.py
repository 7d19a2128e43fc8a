# SPDX-License-Identifier: Apache-2.0
"""Whoever gets a message may never end its answer."""

from threading import Event

from trueup.reconcile.sinks.message import in_time


def test_what_ends_in_time_says_how():
    assert in_time(lambda: "it answered 503", 60.0) == "it answered 503"


def test_what_never_ends_is_not_waited_for():
    never = Event()

    def carry() -> str:
        never.wait()
        return ""

    assert in_time(carry, 0.01) == "there was no whole answer within 0.01 s"
    never.set()


def test_an_error_that_nobody_foresaw_is_told():
    def carry() -> str:
        raise RuntimeError("no thread")

    assert in_time(carry, 60.0) == "RuntimeError: no thread"
