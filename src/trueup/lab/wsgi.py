# SPDX-License-Identifier: Apache-2.0
"""One call of a WSGI application, whoever makes it: the lab's server or its Placement client."""

import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIApplication


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: `status` is the line, as `404 Not Found`."""

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def code(self) -> int:
        """The number in the status line."""
        return int(self.status.split()[0])


def call(application: WSGIApplication, environ: dict[str, Any]) -> Answer:
    """Call the application and read all that it answers; what it raises goes through."""
    started: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    written: list[bytes] = []

    def start_response(
        status: str, headers: Iterable[tuple[str, str]], exc_info: Any = None, /
    ) -> Any:
        started.append((status, tuple(headers)))
        return written.append

    parts = application(environ, start_response)
    try:
        body = b"".join(parts)
    finally:
        close = getattr(parts, "close", None)
        if close is not None:
            close()
    status, headers = started[-1]
    return Answer(status, headers, b"".join(written) + body)


def environ_for(method: str, target: tuple[str, str], content: bytes) -> dict[str, Any]:
    """What every request has; `target` is the decoded path and the query string."""
    path, query = target
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(content),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
