# SPDX-License-Identifier: Apache-2.0
"""Clients that send or read slowly take no turn; test_web_servers tests a real server."""

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from unittest import mock

import pytest

from trueup.placement.middleware import request_buffering
from trueup.placement.middleware.request_buffering import (
    ANSWERS_MAX,
    LARGE_BODIES_MAX,
    SMALL_BODIES_MAX,
    RequestBuffering,
)


class Held:
    """A body that arrives when the test says so."""

    def __init__(self) -> None:
        self.comes, self.is_read = threading.Event(), threading.Event()

    def read(self, _length: int) -> bytes:
        self.is_read.set()
        self.comes.wait()
        return b"body"


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [])
    return [environ["wsgi.input"].read()]


def ask(application: Any, stream: Any, length: str, path: str = "/x") -> tuple[str, bytes]:
    statuses: list[str] = []
    environ = {"wsgi.input": stream, "CONTENT_LENGTH": length, "PATH_INFO": path}
    body = b"".join(application(environ, lambda status, _headers: statuses.append(status)))
    return statuses[0], body


@pytest.mark.parametrize(("length", "other"), [("4", ""), ("", "4")])
def test_bodies_that_do_not_come_leave_the_turn_to_others(length: str, other: str) -> None:
    """Small ones do not take the place of those that may be large, and the other way around."""
    application = RequestBuffering(echo, turns=1, length_max=100)
    held = [Held() for _ in range(SMALL_BODIES_MAX if length else LARGE_BODIES_MAX)]
    answers: list[tuple[str, bytes]] = []
    asking = [
        threading.Thread(target=lambda body=body: answers.append(ask(application, body, length)))
        for body in held
    ]
    for thread, body in zip(asking, held, strict=True):
        thread.start()
        body.is_read.wait()
    assert ask(application, io.BytesIO(), "0") == ("200 OK", b"")
    assert ask(application, io.BytesIO(b"body"), other) == ("200 OK", b"body")
    assert ask(application, io.BytesIO(b"body"), length)[0] == "503 Service Unavailable"
    for body in held:
        body.comes.set()
    for thread in asking:
        thread.join()
    assert answers == [("200 OK", b"body")] * len(held)
    assert ask(application, io.BytesIO(b"body"), length) == ("200 OK", b"body")


def test_a_body_that_ends_early_is_no_body() -> None:
    application = RequestBuffering(echo, turns=1, length_max=100)
    assert ask(application, io.BytesIO(b"bod"), "4")[0] == "408 Request Timeout"


class Stuck:
    """An application that waits for its database; the open path needs none."""

    def __init__(self) -> None:
        self.goes_on, self.began = threading.Event(), threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] != "/":
            self.began.set()
            self.goes_on.wait()
        start_response("200 OK", [])
        return [b""]


def test_an_open_path_takes_no_turn_and_nobody_waits_for_ever() -> None:
    stuck = Stuck()
    application = RequestBuffering(stuck, turns=1, length_max=3, open_paths={"/"})
    with (
        ThreadPoolExecutor(1) as pool,
        mock.patch.object(request_buffering, "STANDSTILL_SECONDS_MAX", 0),
    ):
        first = pool.submit(ask, application, io.BytesIO(), "0")
        stuck.began.wait()
        assert ask(application, io.BytesIO(), "0", "/") == ("200 OK", b"")
        assert ask(application, io.BytesIO(), "0")[0] == "503 Service Unavailable"
        stuck.goes_on.set()
        assert first.result() == ("200 OK", b"")
    assert ask(application, io.BytesIO(), "0") == ("200 OK", b"")


def test_at_the_end_each_answer_ends_its_connection() -> None:
    application = RequestBuffering(echo, turns=1, length_max=3)
    headers: list[tuple[str, str]] = []
    for application.is_ending in (False, True):
        environ = {"wsgi.input": io.BytesIO()}
        assert application(environ, lambda _status, said: headers.extend(said)) == [b""]
    assert headers == [("connection", "close")]


def test_no_more_is_read_than_a_body_may_have() -> None:
    application = RequestBuffering(echo, turns=1, length_max=3)
    assert ask(application, io.BytesIO(b"too long"), "") == ("200 OK", b"too ")
    # A body with too large a Content-Length is refused by the check of its length.
    for length in ("4", "8", "9" * 5000):
        assert ask(application, io.BytesIO(b"too long"), length) == ("200 OK", b"")


class InBlocks:
    """An application whose answers are in blocks, and how many of these are open."""

    def __init__(self) -> None:
        self.open_count = 0

    def __call__(self, _environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        self.open_count += 1
        return self._blocks()

    def _blocks(self) -> Iterator[bytes]:
        try:
            yield b"first"
            yield b"last"
        finally:
            self.open_count -= 1


def begun(application: Any) -> Any:
    return application({}, lambda *_: None)


def test_no_more_threads_send_blocks_than_the_server_can_spare() -> None:
    inner = InBlocks()
    application = RequestBuffering(inner, turns=1, length_max=100)
    slow = [begun(application) for _ in range(ANSWERS_MAX)]
    for answer in slow:
        assert next(iter(answer)) == b"first"
    assert begun(application) == [b"firstlast"]
    assert inner.open_count == ANSWERS_MAX
    for answer in slow:
        answer.close()
    assert inner.open_count == 0
    with closing(begun(application)) as again:
        assert list(again) == [b"first", b"last"]


def test_an_answer_that_is_closed_twice_frees_its_place_once() -> None:
    application = RequestBuffering(InBlocks(), turns=1, length_max=100)
    for _ in range(2):
        begun_and_left = begun(application)
        begun_and_left.close()
        begun_and_left.close()
    slow = [begun(application) for _ in range(ANSWERS_MAX)]
    assert begun(application) == [b"firstlast"]
    assert not [answer for answer in slow if isinstance(answer, list)]
