# SPDX-License-Identifier: Apache-2.0
"""A small HTTP server for reading: it answers GET and HEAD, and has no authentication."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Thread
from typing import Any

from trueup.web.errors import AddressUnusable

PLAIN, HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"
# A client that says nothing for so long is hung up on.
_CLIENT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Request:
    """The path and the query of a GET, and the host that the client believes to ask."""

    path: str
    query: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent; `headers` come besides those of every answer."""

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

    try:
        server = (_Server6 if ":" in host else _Server)((host, port), Handler)
    except (OSError, OverflowError) as error:
        raise AddressUnusable(f"{host}:{port}", str(error)) from error
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT_SECONDS
    server_version, sys_version = "trueup", ""
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

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not logged: a scrape every few seconds is no news."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Server6(_Server):
    address_family = AF_INET6
