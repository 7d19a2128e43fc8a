# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of upstream's service that notes the reads which pass through it.

SAFETY: every request is passed on to upstream, once, and its answer to the client. Nothing is sent
to Trueup from here.
"""

import http.client
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import SplitResult, urlsplit

from trueup.shadow.reads import Read, read_of

_SECONDS = 300
# Of one connection, and not of the request or its answer.
_NOT_PASSED_ON = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "upgrade"})


@contextmanager
def mirror(
    address: tuple[str, int], upstream: str, note: Callable[[Read], None]
) -> Iterator[tuple[str, int]]:
    """Serve until the block ends; gives the address. Raises OSError if it cannot listen."""
    named = urlsplit(upstream)

    class Handler(_Handler):
        target = named
        noted = staticmethod(note)

    with ThreadingHTTPServer(address, Handler) as server:
        serving = Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            host, port = server.server_address[:2]
            yield str(host), int(port)
        finally:
            server.shutdown()
            serving.join()


class _Handler(BaseHTTPRequestHandler):
    target: SplitResult
    noted: Callable[[Read], None]

    def do_GET(self) -> None:
        self._pass_on()

    do_PUT = do_POST = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET

    def _pass_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _NOT_PASSED_ON | {"host"}
        }
        with closing(_connect(self.target)) as connection:
            try:
                connection.request(
                    self.command, f"{self.target.path.rstrip('/')}{self.path}", body, headers
                )
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.send_error(502, "upstream's Placement does not answer")
                return
        self._answer(answer, content)
        if self.command == "GET":
            version = self.headers.get("OpenStack-API-Version", "").removeprefix("placement ")
            read = read_of(self.path, version or None)
            if read is not None:
                self.noted(read)

    def _answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_PASSED_ON | {"content-length"}:
                self.send_header(name, value)
        if answer.status not in (204, 304):
            known = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", known or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Upstream's log has the requests."""


def _connect(target: SplitResult) -> http.client.HTTPConnection:
    secure = target.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    return kind(target.hostname or "", target.port, timeout=_SECONDS)
