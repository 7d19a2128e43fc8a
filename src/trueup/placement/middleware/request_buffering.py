# SPDX-License-Identifier: Apache-2.0
"""Buffers bodies and answers for servers with a thread for each request, so that slow clients do
not block others.

A body is read before the request takes one of the service's turns, and an answer is sent after its
turn. So the server needs more threads than turns: up to `BODIES_MAX` wait for bodies, and up to
`ANSWERS_MAX` for clients that read an answer in blocks.

A request for an open path takes no turn, so that load balancers get an answer while all turns wait
for a database. While no turn ends, requests wait only briefly, so that threads stay free.
"""

import io
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from threading import Semaphore, Thread
from typing import Any

BODIES_MAX = 48
"""The bodies that are read at the same time; further requests with a body get 503."""

ANSWERS_MAX = 8
"""The answers that are sent in blocks at the same time; further ones are sent as a whole."""

SPARE_THREADS = BODIES_MAX + ANSWERS_MAX + 8
"""The threads that a server needs beside those of the service."""

_SECONDS_MAX = 30
STANDSTILL_SECONDS_MAX = 10
"""How long a request waits for a turn while no turn ends."""

_DIGITS_MAX = 18

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class RequestBuffering:
    """A WSGI application around another, which handles at most `turns` requests at a time.

    Requests for `open_paths` do not count.
    """

    def __init__(
        self,
        application: Application,
        turns: int,
        length_max: int,
        open_paths: Collection[str] = (),
    ):
        self._application, self._length_max = application, length_max
        self._open_paths, self._ended_at = open_paths, time.monotonic()
        self._turns, self._bodies = Semaphore(turns), Semaphore(BODIES_MAX)
        self._answers = Semaphore(ANSWERS_MAX)
        self.is_ending = False
        """Whether answers close the connections of clients."""

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if self.is_ending:
            start_response = _closing(start_response)
        if environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ:
            if not self._bodies.acquire(blocking=False):
                return _refuse(start_response, "503 Service Unavailable")
            body = self._body(environ)
            if body is None:
                return _refuse(start_response, "408 Request Timeout")
            environ["wsgi.input"] = io.BytesIO(body)
        if environ.get("PATH_INFO", "") in self._open_paths:
            answer = self._application(environ, start_response)
        elif self._has_turn():
            try:
                answer = self._application(environ, start_response)
            finally:
                self._ended_at = time.monotonic()
                self._turns.release()
        else:
            return _refuse(start_response, "503 Service Unavailable")
        # A server takes a list at once.
        return answer if isinstance(answer, list) else self._begun(answer)

    def _has_turn(self) -> bool:
        """Take a turn, for the caller to release; False if no turn ended for a while."""
        if self._turns.acquire(blocking=False):
            return True
        began = time.monotonic()
        while True:
            left = max(self._ended_at, began) + STANDSTILL_SECONDS_MAX - time.monotonic()
            if left <= 0:
                return False
            if self._turns.acquire(timeout=left):
                return True

    def _begun(self, blocks: Iterable[bytes]) -> Iterable[bytes]:
        """An answer in blocks, or as a whole if too many others are being sent."""
        answer = _Blocks(blocks)
        if self._answers.acquire(blocking=False):
            answer.at_end.callback(self._answers.release)
            return answer
        with answer.at_end:
            return [b"".join(answer)]

    def _body(self, environ: dict[str, Any]) -> bytes | None:
        """The body, or None if the client does not send all of it in time, or disconnects.

        A body with a Content-Length above the limit is not read.
        """
        stream, said = environ["wsgi.input"], environ.get("CONTENT_LENGTH", "")
        if len(said) > _DIGITS_MAX or (said.isdecimal() and int(said) > self._length_max):
            self._bodies.release()
            return b""
        found: list[bytes] = []

        def read() -> None:
            try:
                found.append(stream.read(self._length_max + 1))
            finally:
                self._bodies.release()

        # A thread of its own, because a server offers no way to stop a read; it ends with the
        # connection, and does not keep the process from ending.
        reading = Thread(target=read, daemon=True)
        reading.start()
        reading.join(_SECONDS_MAX)
        return found[0] if found else None


class _Blocks:
    """An answer in blocks. Servers close it when it is sent, or when the client is gone."""

    def __init__(self, blocks: Iterable[bytes]):
        self._blocks = blocks
        self.at_end = ExitStack()
        """Callbacks for the end of the answer, called once."""
        if (close := getattr(blocks, "close", None)) is not None:
            self.at_end.callback(close)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._blocks)

    def close(self) -> None:
        """Run the callbacks."""
        self.at_end.close()


def _closing(start_response: Callable[..., Any]) -> Callable[..., Any]:
    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        return start_response(status, [*headers, ("connection", "close")], *more)

    return start


def _refuse(start_response: Callable[..., Any], status: str) -> list[bytes]:
    _closing(start_response)(status, [("content-length", "0"), ("retry-after", "5")])
    return [b""]
