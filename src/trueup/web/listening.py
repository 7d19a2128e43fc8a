# SPDX-License-Identifier: Apache-2.0
"""The only module that uses http.server: threads that answer HTTP/1.0 while a block runs.

For a page, metrics, or the mirror of `trueup shadow`. `trueup serve` has a web server for the API.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6
from threading import Thread
from typing import Any

from trueup.web.errors import AddressUnusable

# A connection is closed when its client has sent nothing for this long.
_CLIENT_SECONDS = 30

# The interval at which the server checks whether the block has ended.
_STOP_SECONDS = 0.1


class RequestHandler(BaseHTTPRequestHandler):
    """Answers one request; a method `do_GET` and so on for each HTTP method. Logs nothing."""

    timeout = _CLIENT_SECONDS
    server_version, sys_version = "trueup", ""

    def log_message(self, *_: object) -> None:
        """Not logged: scrapes would fill the log, and the service behind a mirror has its own."""


@contextmanager
def listening(host: str, port: int, handler: type[RequestHandler]) -> Iterator[int]:
    """Answer while a block runs; yields the port (0 takes a free one). Raises AddressUnusable.

    Each request has a thread and a handler of its own.
    """
    try:
        server = (_Server6 if ":" in host else _Server)((host, port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AddressUnusable(f"{host}:{port}", reason) from error
    thread = Thread(target=server.serve_forever, args=(_STOP_SECONDS,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that closes its connection; print every other error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Server6(_Server):
    address_family = AF_INET6
