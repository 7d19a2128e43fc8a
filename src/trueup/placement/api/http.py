# SPDX-License-Identifier: Apache-2.0
"""What handlers get and give: a Request over Falcon's, and an Answer.

Falcon reads the one and sends the other; handlers see neither sockets nor headers they do not ask
for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import falcon
from falcon import mediatypes

from trueup.placement.api.access import Caller
from trueup.placement.api.errors import Refused, bad_request
from trueup.placement.api.versions import V
from trueup.placement.config import Settings
from trueup.placement.store.database import Database

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and the few headers that differ.

    `last_modified` is UTC without saying so; with a value, the answer also forbids caching.
    `location` is a path below the service.
    """

    status: int = 200
    body: Any = None
    last_modified: datetime | None = None
    cacheable: bool = True
    location: str | None = None


def no_content() -> Answer:
    """Done, and there is nothing to say about it."""
    return Answer(status=204)


@dataclass(frozen=True, slots=True)
class Service:
    """What every request needs of the application it belongs to."""

    database: Database
    settings: Settings


class Request:
    """One request: its microversion, its caller, its query and its body."""

    __slots__ = ("_pairs", "_raw", "caller", "service", "version")

    def __init__(self, raw: falcon.Request, service: Service, version: V, caller: Caller):
        self._raw = raw
        self._pairs: list[tuple[str, str]] | None = None
        self.service, self.version, self.caller = service, version, caller

    @property
    def database(self) -> Database:
        """The ledger."""
        return self.service.database

    @property
    def settings(self) -> Settings:
        """The service's configuration."""
        return self.service.settings

    @property
    def mount(self) -> str:
        """The path below which the service is mounted; empty at the root of a host."""
        return self._raw.root_path

    def authorize(self, rule: str, project_id: str | None = None) -> None:
        """Raise Refused unless the caller may; `project_id` is whose data is asked for."""
        self.caller.authorize(rule, project_id)

    def query(self) -> Sequence[tuple[str, str]]:
        """The parameters in their order, repeated ones too. Raises Refused for bad encoding."""
        if self._pairs is None:
            try:
                self._pairs = parse_qsl(
                    self._raw.query_string, keep_blank_values=True, errors="strict"
                )
            except (UnicodeDecodeError, ValueError) as error:
                raise bad_request(f"Invalid query string parameters: {error}") from error
        return self._pairs

    def body(self) -> bytes:
        """What the client sent."""
        return self._raw.bounded_stream.read()

    def answer(self, body: Any, last_modified: datetime | None = None, **changes: Any) -> Answer:
        """An answer with a body; its age is told to the microversions that know of it."""
        if self.version < V.CACHE_HEADERS:
            return Answer(body=body, **changes)
        return Answer(body=body, last_modified=last_modified, cacheable=False, **changes)


def newest(times: Sequence[datetime | None]) -> datetime:
    """The latest of these times; now, if there are none. None stands for now."""
    return max((time or utc_now() for time in times), default=None) or utc_now()


def utc_now() -> datetime:
    """The present time as the ledger keeps it."""
    return datetime.now(UTC).replace(tzinfo=None)


def refuse_other_media(raw: falcon.Request, *, takes_json: bool, answers_json: bool) -> None:
    """Raise Refused if the client sends something else than JSON, or accepts none."""
    if answers_json and not accepts(raw, JSON):
        raise Refused(406, f"Only {JSON} is provided")
    if takes_json and content_type(raw) != JSON:
        raise Refused(415, f"The media type {content_type(raw)} is not supported, use {JSON}")


def content_type(raw: falcon.Request) -> str:
    """The type of what the client sends, without parameters."""
    return (raw.content_type or "").split(";")[0].strip() or "None"


def accepts(raw: falcon.Request, media_type: str) -> bool:
    """Whether the client can read this type."""
    return _quality(raw, media_type) > 0


def preferred_error_type(raw: falcon.Request) -> str:
    """The type in which the client wants to read an error."""
    page, document = _quality(raw, "text/html"), _quality(raw, JSON)
    if page > 0 and page >= document:
        return "text/html"
    return JSON if document > 0 else "text/plain"


def _quality(raw: falcon.Request, media_type: str) -> float:
    accept = raw.get_header("Accept") or JSON
    # PERF: nearly every client sends exactly this.
    if accept == JSON:
        return 1.0 if media_type == JSON else 0.0
    if accept == "*/*":
        return 1.0 if media_type == JSON else 0.5
    try:
        return mediatypes.quality(media_type, accept)
    except falcon.errors.InvalidMediaRange:
        # PARITY: a header that makes no sense is as good as none.
        return 1.0 if media_type == JSON else 0.5


def http_date(time: datetime) -> str:
    """A time as HTTP headers carry it."""
    return falcon.util.dt_to_http(time)
