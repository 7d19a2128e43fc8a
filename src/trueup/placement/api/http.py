# SPDX-License-Identifier: Apache-2.0
"""The Request that a handler takes, and the Answer that it returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import falcon

from trueup.placement.api.accept import quality
from trueup.placement.api.access import Caller
from trueup.placement.api.errors import Refused, bad_request
from trueup.placement.api.versions import V
from trueup.placement.config import Settings
from trueup.placement.index.current import Index
from trueup.placement.store.engine.database import Database

JSON = "application/json"


_TEXTS_OF_A_BLOCK = 512


class Parts(NamedTuple):
    """A body in parts: some in sequence, then texts with commas between them, then the end.

    PERF: a thread keeps the memory of its largest answer, and ten thousand candidates are 14 MB.
    So only a small body is joined at once; a large one is joined in blocks while it is sent.
    """

    first: Sequence[bytes]
    texts: Sequence[bytes] = ()
    last: bytes = b""

    def size(self) -> int:
        """The number of bytes of the body."""
        commas = max(0, len(self.texts) - 1)
        return sum(map(len, self.first)) + sum(map(len, self.texts)) + commas + len(self.last)

    def joined(self) -> bytes:
        """The body. PERF: joined in one step, because a second large buffer is slow: its memory
        comes fresh from the system, which takes a fifth of the time of an answer of a megabyte.
        """
        separated = [b","] * (2 * len(self.texts))
        separated[::2] = self.texts
        return b"".join((*self.first, *separated[:-1], self.last))

    def blocks(self) -> Iterator[bytes]:
        """The body in blocks: each part of `first`, some hundred texts at a time, and the end."""
        yield from self.first
        for first in range(0, len(self.texts), _TEXTS_OF_A_BLOCK):
            block = b",".join(self.texts[first : first + _TEXTS_OF_A_BLOCK])
            yield b"," + block if first else block
        yield self.last


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body, and the headers that differ between answers.

    `body` is encoded as JSON; bytes and Parts are JSON already. `last_modified` is UTC without a
    time zone. `location` is a path below the service. A long answer has `lines` of this
    `media_type`, which are sent one by one, and no body.
    """

    status: int = 200
    body: Any = None
    last_modified: datetime | None = None
    cacheable: bool = True
    location: str | None = None
    lines: Iterator[bytes] | None = None
    media_type: str = JSON


NO_CONTENT = Answer(status=204)
"""Success, without a body."""


class Request(falcon.Request):
    """Falcon's request, with the attributes that handlers need; _RequestMiddleware sets them."""

    version: V
    caller: Caller
    database: Database
    index: Index
    settings: Settings
    handler = ""
    arguments: Mapping[str, str] = MappingProxyType({})

    def query(self) -> Sequence[tuple[str, str]]:
        """The query parameters in order, repeated ones too. Raises Refused for bad encoding.

        PARITY: semicolons separate parameters as well.
        """
        text = self.query_string.replace(";", "&")
        try:
            if not text.isascii() and max(text) <= "\xff":
                # Servers pass its bytes decoded as latin-1; in-process clients pass text.
                text = text.encode("latin-1").decode()
            return parse_qsl(text, keep_blank_values=True, errors="strict")
        except (UnicodeDecodeError, ValueError) as error:
            raise bad_request(f"Invalid query string parameters: {error}") from error

    def answer(self, body: Any, last_modified: datetime | None = None, **changes: Any) -> Answer:
        """An answer with a body, and from microversion 1.15 on with cache headers."""
        if self.version < V.CACHE_HEADERS:
            return Answer(body=body, **changes)
        return Answer(body=body, last_modified=last_modified, cacheable=False, **changes)


def newest(times: Sequence[datetime | None]) -> datetime:
    """The latest of these times; None counts as now, and so does an empty list."""
    return max((time or utc_now() for time in times), default=None) or utc_now()


def utc_now() -> datetime:
    """The present time in UTC, without a time zone, as in the database."""
    return datetime.now(UTC).replace(tzinfo=None)


def refuse_other_content(request: falcon.Request) -> None:
    """Raise Refused unless the body of the request is JSON."""
    if content_type(request) != JSON:
        raise Refused(415, f"The media type {content_type(request)} is not supported, use {JSON}")


def refuse_if_json_is_not_accepted(request: falcon.Request) -> None:
    """Raise Refused unless the client accepts JSON."""
    if _quality(request, JSON) <= 0:
        raise Refused(406, f"Only {JSON} is provided")


def content_type(request: falcon.Request) -> str:
    """The content type of the request, without parameters."""
    # PARITY: with white space before the parameters it is another type.
    return (request.content_type or "").split(";")[0] or "None"


def stated_content_type(request: falcon.Request) -> str:
    """The content type of the request with its parameters, for errors."""
    media_type, semicolon, parameters = (request.content_type or "").partition(";")
    return f"{media_type or 'None'}{semicolon}{parameters}"


def stated_accept(request: falcon.Request) -> str:
    """The Accept header of the client, for errors; JSON by default."""
    accept: str = request.get_header("Accept") or "*/*"
    return JSON if accept == "*/*" else accept


def preferred_error_type(request: falcon.Request) -> str:
    """The media type in which the client prefers errors."""
    page, document = _quality(request, "text/html"), _quality(request, JSON)
    if page > 0 and page >= document:
        return "text/html"
    return JSON if document > 0 else "text/plain"


def _quality(request: falcon.Request, media_type: str) -> float:
    accept = request.get_header("Accept")
    # PERF: nearly every client sends exactly this, or no header.
    if not accept or accept == JSON:
        return 1.0 if media_type == JSON else 0.0
    if accept == "*/*":
        return 1.0 if media_type == JSON else 0.5
    return quality(accept, media_type)


def http_date(time: datetime) -> str:
    """A time in the format of HTTP headers."""
    return _date_of_second(time.replace(microsecond=0))


_date_of_second = lru_cache(maxsize=1024)(falcon.util.dt_to_http)
"""PERF: cached, because many answers have the present second, or an old and popular time."""
