# SPDX-License-Identifier: Apache-2.0
"""Serves the page, the metrics and the health of watching over HTTP, from the status alone."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Thread
from typing import Any

from trueup.reconcile.clock import now
from trueup.reconcile.watch.errors import AddressUnusable
from trueup.reconcile.watch.metrics import CONTENT_TYPE, StatusMetrics
from trueup.reconcile.watch.status import WatchStatus

_PLAIN, _HTML = "text/plain; charset=utf-8", "text/html; charset=utf-8"
# A client that says nothing for so long is hung up on.
_CLIENT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class _Answer:
    content: bytes
    kind: str = _PLAIN
    status: HTTPStatus = HTTPStatus.OK


@contextmanager
def serving(host: str, port: int, status: Callable[[], WatchStatus]) -> Iterator[int]:
    """Serve while a block runs; yields the port (0 takes a free one). Raises AddressUnusable."""
    metrics = StatusMetrics(status)

    class Handler(_Handler):
        def answer(self, path: str) -> _Answer:
            return _answer(path, status(), metrics)

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


def _answer(path: str, status: WatchStatus, metrics: StatusMetrics) -> _Answer:
    match path:
        case "/":
            reason = status.not_ready()
            if not status.page:
                return _Answer(f"{reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
            return _Answer(status.page, _HTML)
        case "/metrics":
            return _Answer(metrics.text(), CONTENT_TYPE)
        case "/readyz":
            return _health(status.not_ready())
        case "/livez":
            return _health(status.not_alive(now()))
    return _Answer(b"not found; there are / /metrics /readyz /livez\n", status=HTTPStatus.NOT_FOUND)


def _health(reason: str) -> _Answer:
    if reason:
        return _Answer(f"{reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
    return _Answer(b"ok\n")


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT_SECONDS
    server_version, sys_version = "trueup", ""

    def answer(self, path: str) -> _Answer:
        raise NotImplementedError

    def do_GET(self) -> None:
        self._send(with_content=True)

    def do_HEAD(self) -> None:
        self._send(with_content=False)

    def _send(self, with_content: bool) -> None:
        answer = self.answer(self.path.partition("?")[0])
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
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
