# SPDX-License-Identifier: Apache-2.0
"""A server that is no good: answers each path as a test says, so that a client meets them all.

Not a stand-in for Placement: what Placement does is tested on Placement.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from keystoneauth1 import adapter, noauth, session

from trueup.lab.serving import serve
from trueup.reconcile.sources.placement.client import Placement

VERSIONS = {"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.39"}]}


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, and a body: text as it is, anything else as JSON."""

    status: int
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


# "GET /path" → what is answered; a path may have a query.
Replies = Mapping[str, Reply]


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was asked."""

    line: str
    body: Any
    headers: Mapping[str, str]


@contextmanager
def answering(replies: Replies, asked: list[Request] | None = None) -> Iterator[str]:
    """The URL of a server that gives these replies, and 404 for anything else."""
    seen = [] if asked is None else asked

    def application(environ: dict[str, Any], start_response: Callable) -> list[bytes]:
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        line = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}{query}"
        content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        headers = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
        seen.append(Request(line, json.loads(content) if content else None, headers))
        reply = replies.get(line, Reply(404, {"errors": [{"status": 404, "detail": "Nothing."}]}))
        status = f"{reply.status} {HTTPStatus(reply.status).phrase}"
        kind = "text/html" if isinstance(reply.body, str) else "application/json"
        start_response(status, [*({"Content-Type": kind} | dict(reply.headers)).items()])
        return [reply.content()]

    with serve(application) as url:
        yield url


def adapter_of(url: str) -> adapter.Adapter:
    """An adapter for this server, without credentials."""
    connected = session.Session(auth=noauth.NoAuth(), timeout=10)
    return adapter.Adapter(connected, service_type="placement", endpoint_override=url)


def client(url: str) -> Placement:
    """A Placement client for this server."""
    return Placement(adapter_of(url))
