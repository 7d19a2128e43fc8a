# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of upstream's service that notes the reads which pass through it.

SAFETY: every request is sent to upstream once, and its answer to the client; nothing is sent to
Trueup.
"""

import http.client
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from urllib.parse import SplitResult, urlsplit

from trueup.shadow.bodies import BodyBroken, body_of
from trueup.shadow.reads import Read, read_of
from trueup.web.listening import RequestHandler, listening

_SECONDS = 300
# Headers of a connection, not of a message, and the length: a body in chunks is passed on whole.
_NOT_PASSED_ON = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding",
     "upgrade"}
)  # fmt: skip
_WITH_A_BODY = ("PATCH", "POST", "PUT")


@contextmanager
def mirror(
    address: tuple[str, int], upstream: str, note: Callable[[Read], None]
) -> Iterator[tuple[str, int]]:
    """Serve until the block ends; gives the address. Raises AddressUnusable."""
    named = urlsplit(upstream)
    host, wanted = address

    class Handler(_Handler):
        target = named
        noted = staticmethod(note)

    with listening(host, wanted, Handler) as port:
        yield host, port


class _Handler(RequestHandler):
    target: SplitResult
    noted: Callable[[Read], None]

    def do_GET(self) -> None:
        self._pass_on()

    do_PUT = do_POST = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = do_GET

    def _pass_on(self) -> None:
        try:
            body = body_of(self.headers, self.rfile)
        except BodyBroken as error:
            # SAFETY: half a body may be a valid request of its own.
            self.send_error(400, error.reason)
            return
        with closing(_connect(self.target)) as connection:
            try:
                self._ask(connection, body)
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

    def _ask(self, connection: http.client.HTTPConnection, body: bytes | None) -> None:
        """Send the request with its headers, repeated ones too."""
        path = f"{self.target.path.rstrip('/')}{self.path}"
        connection.putrequest(self.command, path, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _NOT_PASSED_ON | {"host"}:
                connection.putheader(name, value)
        if body is not None or self.command in _WITH_A_BODY:
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)

    def _answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        if answer.status not in (204, 304):
            known = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", known or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _connect(target: SplitResult) -> http.client.HTTPConnection:
    secure = target.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    return kind(target.hostname or "", target.port, timeout=_SECONDS)
