# SPDX-License-Identifier: Apache-2.0
"""Requests whose bodies do not come take no turn; test_web_servers asks a real server."""

import io
import threading
from typing import Any

from trueup.placement.slow_senders import BODIES_MAX, BodiesFirst


class Held:
    """A body that comes when it is told to."""

    def __init__(self) -> None:
        self.comes, self.is_read = threading.Event(), threading.Event()

    def read(self, _length: int) -> bytes:
        self.is_read.set()
        self.comes.wait()
        return b"body"


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [])
    return [environ["wsgi.input"].read()]


def ask(application: Any, stream: Any, length: str) -> tuple[str, bytes]:
    statuses: list[str] = []
    environ = {"wsgi.input": stream, "CONTENT_LENGTH": length}
    body = b"".join(application(environ, lambda status, _headers: statuses.append(status)))
    return statuses[0], body


def test_bodies_that_do_not_come_leave_the_turn_to_others() -> None:
    application = BodiesFirst(echo, turns=1, length_max=100)
    held = [Held() for _ in range(BODIES_MAX)]
    answers: list[tuple[str, bytes]] = []
    asking = [
        threading.Thread(target=lambda one=one: answers.append(ask(application, one, "4")))
        for one in held
    ]
    for thread, one in zip(asking, held, strict=True):
        thread.start()
        one.is_read.wait()
    assert ask(application, io.BytesIO(), "0") == ("200 OK", b"")
    assert ask(application, io.BytesIO(b"body"), "4")[0] == "503 Service Unavailable"
    for one in held:
        one.comes.set()
    for thread in asking:
        thread.join()
    assert answers == [("200 OK", b"body")] * BODIES_MAX
    assert ask(application, io.BytesIO(b"body"), "4") == ("200 OK", b"body")


def test_no_more_is_read_than_a_body_may_have() -> None:
    application = BodiesFirst(echo, turns=1, length_max=3)
    assert ask(application, io.BytesIO(b"too long"), "8") == ("200 OK", b"too ")
