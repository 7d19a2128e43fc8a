# SPDX-License-Identifier: Apache-2.0
"""For servers that give a thread to each request: clients that send or read slowly keep nobody
waiting.

A body is read before the request takes one of the turns of the service, and an answer is sent after
it. So the server needs more threads than there are turns: at most `BODIES_MAX` of them wait for
bodies, and at most `ANSWERS_MAX` for clients to read the next block of an answer.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from threading import Semaphore, Thread
from typing import Any

BODIES_MAX = 48
"""The bodies that are awaited at the same time; further requests with a body get 503."""

ANSWERS_MAX = 8
"""The answers that are sent in blocks at the same time; further ones are sent as a whole."""

SPARE_THREADS = BODIES_MAX + ANSWERS_MAX + 8
"""The threads that a server needs beside those of the service."""

_SECONDS_MAX = 30

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class BodiesFirst:
    """A WSGI application around another, which handles at most `turns` requests at a time."""

    def __init__(self, application: Application, turns: int, length_max: int):
        self._application, self._length_max = application, length_max
        self._turns, self._bodies = Semaphore(turns), Semaphore(BODIES_MAX)
        self._answers = Semaphore(ANSWERS_MAX)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if environ.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in environ:
            if not self._bodies.acquire(blocking=False):
                return _refuse(start_response, "503 Service Unavailable")
            body = self._read(environ["wsgi.input"])
            if body is None:
                return _refuse(start_response, "408 Request Timeout")
            environ["wsgi.input"] = io.BytesIO(body)
        with self._turns:
            answer = self._application(environ, start_response)
        # A server takes a list from us at once.
        return answer if isinstance(answer, list) else self._begun(answer)

    def _begun(self, blocks: Iterable[bytes]) -> Iterable[bytes]:
        """An answer in blocks as it is, or as a whole if too many others are being sent."""
        answer = _Blocks(blocks)
        if self._answers.acquire(blocking=False):
            answer.at_end.callback(self._answers.release)
            return answer
        with answer.at_end:
            return [b"".join(answer)]

    def _read(self, stream: Any) -> bytes | None:
        """What the client sends, or None if it does not send all of it in time, or goes away."""
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
        """What to do at the end, once."""
        if (close := getattr(blocks, "close", None)) is not None:
            self.at_end.callback(close)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._blocks)

    def close(self) -> None:
        """Free what the answer has taken."""
        self.at_end.close()


def _refuse(start_response: Callable[..., Any], status: str) -> list[bytes]:
    start_response(status, [("content-length", "0"), ("connection", "close"), ("retry-after", "5")])
    return [b""]
