# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server for reading: it answers GET and HEAD, and has no authentication."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from trueup.web.listening import RequestHandler, listening

PLAIN, HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """The path and the query of a GET, and its Host header."""

    path: str
    query: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `headers` are sent besides those of every answer."""

    content: bytes
    kind: str = PLAIN
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serving(host: str, port: int, answer: Callable[[Request], Answer]) -> Iterator[int]:
    """Serve while a block runs; yields the port (0 takes a free one). Raises AddressUnusable.

    `answer` is called in several threads.
    """

    class Handler(_Handler):
        respond = staticmethod(answer)

    with listening(host, port, Handler) as served:
        yield served


class _Handler(RequestHandler):
    respond: Callable[[Request], Answer]

    def do_GET(self) -> None:
        self._send(with_content=True)

    def do_HEAD(self) -> None:
        self._send(with_content=False)

    def _send(self, with_content: bool) -> None:
        path, _, query = self.path.partition("?")
        answer = self.respond(Request(path, query, self.headers.get("Host", "")))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_content:
            self.wfile.write(answer.content)
