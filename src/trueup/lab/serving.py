# SPDX-License-Identifier: Apache-2.0
"""Serves a WSGI application on this machine's loopback, in threads, for as long as a block runs.

Only the standard library, and only for a lab: no TLS, no limits, no chunked requests.
"""

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote
from wsgiref.types import WSGIApplication

from trueup.lab.wsgi import Answer, call, environ_for

LOOPBACK = "127.0.0.1"
_FAILED = Answer("500 Internal Server Error", (), b"")
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

_log = logging.getLogger(__name__)


@contextmanager
def serve(application: WSGIApplication) -> Iterator[str]:
    """Serve on a free port and give its URL; when the block ends, every connection is closed."""
    server = _Server(application)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.hang_up()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, application: WSGIApplication) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.application = application
        self._open: set[socket.socket] = set()
        self._lock = Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is the client's business; anything else is a mistake here."""
        level = logging.DEBUG if isinstance(sys.exception(), OSError) else logging.ERROR
        _log.log(level, "the connection from %s broke", client_address, exc_info=True)

    def hang_up(self) -> None:
        """End kept-alive connections, whose threads would wait for a next request forever."""
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    # The client was faster.
                    continue


class _Handler(BaseHTTPRequestHandler):
    """One connection: each request becomes one call of the application."""

    server: _Server
    protocol_version = "HTTP/1.1"
    # One segment for head and body: Nagle and delayed acknowledgements would cost 40 ms each.
    wbufsize = -1
    disable_nagle_algorithm = True

    def answer(self) -> None:
        """Call the application and send its answer whole, so that the connection can go on."""
        if "Transfer-Encoding" in self.headers:
            self.send_error(HTTPStatus.LENGTH_REQUIRED)
            self.close_connection = True
            return
        try:
            answered = call(self.server.application, self._environ())
        except Exception:
            _log.exception("%s %s was not answered", self.command, self.path)
            answered = _FAILED
        self._send(answered)

    do_GET = do_HEAD = do_POST = do_PUT = answer
    do_PATCH = do_DELETE = do_OPTIONS = answer

    def log_message(self, *message: Any) -> None:
        _log.debug(*message)

    def _send(self, answered: Answer) -> None:
        self.send_response(answered.code, answered.status.partition(" ")[2])
        for name, value in answered.headers:
            if name.lower() != "content-length":
                self.send_header(name, value)
        if answered.code not in _BODILESS:
            self.send_header("Content-Length", str(len(answered.body)))
        self.end_headers()
        if self.command != "HEAD" and answered.code not in _BODILESS:
            self.wfile.write(answered.body)

    def _environ(self) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environ: dict[str, Any] = environ_for(
            self.command, (unquote(path, "iso-8859-1"), query), content
        ) | {
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "SERVER_PORT": str(self.server.server_port),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
        }
        for name in self.headers:
            if name.lower() not in ("content-type", "content-length"):
                key = "HTTP_" + name.upper().replace("-", "_")
                environ[key] = ",".join(self.headers.get_all(name, []))
        return environ
