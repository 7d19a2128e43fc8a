# SPDX-License-Identifier: Apache-2.0
"""The API as a WSGI application: authentication, microversion, route, handler, answer.

Falcon parses the request, finds the URL and sends the answer. Method, microversion and media types
are checked here, against the table of routes.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import falcon

# PARITY: orjson writes a ratio as 3.40282e+38; msgspec would write 3.40282e38.
# PERF: orjson needs 0.33 microseconds for a provider and 276 for 1,000; msgspec 0.61 and 429.
import orjson
from falcon.constants import COMBINED_METHODS
from falcon.routing import CompiledRouter

from trueup.model.errors import PlacementError
from trueup.placement.api.access import OPEN_PATHS, Authenticator
from trueup.placement.api.errors import (
    ErrorContext,
    Refused,
    bad_request,
    document,
    page,
    plain_text,
    refusal_of,
    unavailable,
)
from trueup.placement.api.http import (
    JSON,
    Answer,
    Parts,
    Request,
    http_date,
    preferred_error_type,
    refuse_if_json_is_not_accepted,
    refuse_other_content,
    stated_accept,
    stated_content_type,
)
from trueup.placement.api.request_ids import REQUEST_ID
from trueup.placement.api.routes import EVERY_ROUTE, Route, rule_of
from trueup.placement.api.versions import (
    HEADER,
    SERVICE_TYPE,
    Malformed,
    Unacceptable,
    V,
    negotiate,
)
from trueup.placement.config import Settings
from trueup.placement.index.current import Index
from trueup.placement.middleware.beside import ROUTE
from trueup.placement.store.engine.availability import reads_again, reason
from trueup.placement.store.engine.database import Database
from trueup.placement.store.engine.errors import lacks_character, meaning_of

_log = logging.getLogger(__name__)

_WHOLE_BYTES_MAX = 2 << 20
"""A larger body is sent in blocks."""


def make_api(
    database: Database,
    settings: Settings,
    prepare: Callable[[], None],
    *,
    owns_process: bool = False,
) -> Any:
    """The API as an application, without other middleware around it.

    `prepare` is called before the first request of an identified caller, until it succeeds.
    `owns_process` is passed to the index.
    """
    middleware = _RequestMiddleware(database, settings, prepare, owns_process)
    api: Any = falcon.App(middleware=[middleware], router=_Router(), request_type=Request)
    api.resp_options.default_media_type = None
    # This replaces Falcon's own error answers.
    for error in (Exception, falcon.HTTPError):
        api.add_error_handler(error, _answer_error)
    for url in dict.fromkeys(route.url for route in EVERY_ROUTE):
        api.add_route(url, _Resource([route for route in EVERY_ROUTE if route.url == url]))
    return api


class _RequestMiddleware:
    """Prepares every request before its URL is looked up."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        prepare: Callable[[], None],
        owns_process: bool,
    ):
        self._database, self._settings = database, settings
        self._index = Index(database, owns_process=owns_process)
        self._door = Authenticator(settings)
        self._prepare: Callable[[], None] | None = prepare

    def process_request(self, request: Request, response: falcon.Response) -> None:
        request.database, request.settings = self._database, self._settings
        request.index = self._index
        request.caller = self._door.identify(request.env)
        # SAFETY: only identified callers open a connection to the database, or wait for one.
        if self._prepare is not None and request.env.get("PATH_INFO", "") not in OPEN_PATHS:
            self._prepare()
            self._prepare = None
        try:
            request.version = version = negotiate(request.get_header(HEADER))
        except Unacceptable as error:
            raise Refused(406, f"Invalid microversion: {error}") from error
        except Malformed as error:
            raise bad_request(f"Invalid microversion: {error}") from error
        request.env[f"{SERVICE_TYPE}.microversion"] = version.text
        # Errors have these headers, too.
        response.set_header(HEADER, f"{SERVICE_TYPE} {version.text}")
        response.append_header("vary", HEADER)
        try:
            has_content = int(request.env.get("CONTENT_LENGTH") or 0) > 0
        except ValueError as error:
            raise bad_request("content-length header must be an integer") from error
        if has_content and not request.content_type:
            raise bad_request("content-type header required when content-length > 0")
        if request.path.endswith("\n") and not request.path[1:].endswith("/\n"):
            # PARITY: the pattern of a URL also ends before a last line break.
            request.path = request.path[:-1]
        if "//" in request.path or request.path[1:].endswith("/"):
            # No part of a URL may be empty.
            raise Refused(404)


class _Resource:
    """A URL: finds the handler for a method and a microversion, and sends its answer."""

    def __init__(self, routes: Iterable[Route]):
        self._routes = tuple(routes)
        self._found = {
            (route.method, version): route
            for route in self._routes
            for version in V
            if route.since <= version <= route.until
        }
        # SAFETY: the service does not start with a route for which no rule says who may use it.
        self._rules = {route: rule_of(route) for route in self._routes}

    def respond(self, request: Request, response: falcon.Response, **arguments: str) -> None:
        """Answer a request to this URL, whatever its method."""
        request.env[ROUTE] = self._routes[0].url
        route = self._found.get((request.method, request.version)) or self._refuse(request)
        if route.answers:
            refuse_if_json_is_not_accepted(request)
        if route.takes and request.content_type != JSON:
            refuse_other_content(request)
        request.handler, request.arguments = route.handler.__name__, arguments
        if rule := self._rules[route]:
            request.caller.authorize(rule)
        answer = _handled(route, request)
        response.status = answer.status
        if answer.body is not None:
            response.content_type = JSON
            _set_body(response, answer.body)
        elif answer.lines is not None:
            response.content_type = answer.media_type
            response.stream = answer.lines
        if answer.location is not None:
            # SAFETY: a class that upstream stored may end with a line break, and no header may.
            location = answer.location.replace("\n", "%0A")
            response.set_header("location", f"{_origin(request)}{location}")
        if not answer.cacheable:
            response.set_header("cache-control", "no-cache")
            if answer.last_modified is not None:
                response.set_header("last-modified", http_date(answer.last_modified))

    def _refuse(self, request: Request) -> NoReturn:
        routes = [route for route in self._routes if route.method == request.method]
        if not routes:
            raise Refused(
                405,
                "The method specified is not allowed for this resource.",
                headers={"allow": ", ".join(dict.fromkeys(each.method for each in self._routes))},
            )
        if routes[0].media_first and routes[0].answers:
            refuse_if_json_is_not_accepted(request)
        if routes[0].media_first and routes[0].takes:
            refuse_other_content(request)
        raise Refused(routes[0].earlier)


def _handled(route: Route, request: Request) -> Answer:
    try:
        return route.handler(request, **request.arguments)
    except Exception as error:
        # A read can be repeated; a write repeats its own transaction.
        if route.method != "GET" or not reads_again(error):
            raise
        return route.handler(request, **request.arguments)


class _Router(CompiledRouter):
    """Falcon finds the URL; the resource gets every method, even one that Falcon does not know."""

    def map_http_methods(self, resource: Any, **_options: Any) -> dict[str, Any]:
        return _EveryMethod(dict.fromkeys(COMBINED_METHODS, resource.respond))


class _EveryMethod(dict[str, Any]):
    def __missing__(self, _method: str) -> Any:
        return self["GET"]


def _set_body(response: falcon.Response, body: Any) -> None:
    if isinstance(body, bytes):
        response.data = body
    elif not isinstance(body, Parts):
        response.data = orjson.dumps(body)
    elif (size := body.size()) <= _WHOLE_BYTES_MAX:
        response.data = body.joined()
    else:
        response.set_stream(body.blocks(), size)


def _origin(request: Request) -> str:
    """The URL of the service, without the default port of its scheme."""
    if request.env.get("HTTP_HOST") == "":
        # Without it, Falcon uses the server's own name.
        del request.env["HTTP_HOST"]
    default_port = ":443" if request.scheme == "https" else ":80"
    host: str = request.netloc.removesuffix(default_port)
    return f"{request.scheme}://{host}{request.root_path}"


def _answer_error(
    request: Request, response: falcon.Response, error: Exception, _arguments: Any
) -> None:
    refused = _refusal(request, error)
    context = ErrorContext(
        method=request.method,
        accept=stated_accept(request),
        content_type=stated_content_type(request),
        request_id=request.env.get(REQUEST_ID, ""),
        version=getattr(request, "version", None),
    )
    response.status = refused.status
    media_type = preferred_error_type(request)
    response.content_type = media_type if media_type == JSON else f"{media_type}; charset=UTF-8"
    if media_type == JSON:
        response.data = orjson.dumps(document(refused, context))
    else:
        render = page if media_type == "text/html" else plain_text
        response.data = render(refused, context).encode()
    for name, value in refused.headers.items():
        response.set_header(name, value)


def _refusal(request: Request, error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, PlacementError):
        handler = getattr(request, "handler", "")
        return refusal_of(error, handler, getattr(request, "arguments", {}))
    if isinstance(error, falcon.HTTPNotFound):
        return Refused(404)
    if isinstance(error, falcon.HTTPError):
        return bad_request(str(error.description or error.title or ""))
    if isinstance(error, UnicodeEncodeError):
        # JSON can contain half of a surrogate pair, which no database can store.
        return bad_request(f"The text cannot be stored: {error.reason}")
    if lacks_character(error):
        return bad_request("A text has a character that the database's character set lacks.")
    meaning = meaning_of(error)
    if meaning is not None:
        refused = unavailable(meaning)
        _log.error("%s %s", refused.detail, reason(error))
        return refused
    _log.exception("Placement API unexpected error: %s", error)
    # SAFETY: the text of an error may have SQL, values or paths.
    return Refused(500, "An unexpected error occurred; the log of the service has it.")
