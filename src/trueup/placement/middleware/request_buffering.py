# SPDX-License-Identifier: Apache-2.0
"""Buffers bodies and answers for servers with a thread for each request, so that slow clients do
not block others.

A body is read before the request takes one of the service's turns, and an answer is sent after its
turn. So the server needs more threads than turns: up to `BODIES_MAX` wait for bodies, and up to
`ANSWERS_MAX` for clients that read an answer in blocks. Large bodies are few at a time: clients
need no token to send them, and each takes memory.

SAFETY: the thread that began to read a body reads it to its end. If another thread did, and the
request ended first, granian would wait for that thread with Python's lock, and stop the process for
as long as the client likes. `silent_connections` ends the wait for clients that are gone.

A request for an open path takes no turn, so that load balancers get an answer while all turns wait
for a database. While no turn ends, requests wait only briefly, so that threads stay free.
"""

import io
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack
from threading import Semaphore
from typing import Any

SMALL_LENGTH_MAX = 64 * 1024
SMALL_BODIES_MAX, LARGE_BODIES_MAX = 240, 16
"""The bodies that are read at the same time; further requests with such a body get 503."""
BODIES_MAX = SMALL_BODIES_MAX + LARGE_BODIES_MAX

ANSWERS_MAX = 8
"""The answers that are sent in blocks at the same time; further ones are sent as a whole."""

SPARE_THREADS = BODIES_MAX + ANSWERS_MAX + 8
"""The threads that a server needs beside those of the service."""

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
        self._turns = Semaphore(turns)
        self._small, self._large = Semaphore(SMALL_BODIES_MAX), Semaphore(LARGE_BODIES_MAX)
        self._answers = Semaphore(ANSWERS_MAX)
        self.is_ending = False
        """Whether answers close the connections of clients."""

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if self.is_ending:
            start_response = _closing(start_response)
        if environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ:
            said = environ.get("CONTENT_LENGTH", "")
            length = int(said) if said.isdecimal() and len(said) <= _DIGITS_MAX else None
            is_small = length is not None and length <= SMALL_LENGTH_MAX
            slots = self._small if is_small else self._large
            if not slots.acquire(blocking=False):
                return _refuse(start_response, "503 Service Unavailable")
            try:
                body = self._body(environ["wsgi.input"], length, said)
            finally:
                slots.release()
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

    def _body(self, stream: Any, length: int | None, said: str) -> bytes | None:
        """The body, or None if the client did not send all of it.

        A body with a Content-Length above the limit is not read.
        """
        if len(said) > _DIGITS_MAX or (length or 0) > self._length_max:
            return b""
        body: bytes = stream.read(self._length_max + 1)
        return body if length is None or len(body) == length else None


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
