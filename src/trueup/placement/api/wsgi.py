# SPDX-License-Identifier: Apache-2.0
"""One request from top to bottom: negotiate, identify, route, call, answer.

Falcon is the kernel: it parses, finds the URL and sends. The method, the microversion and the media
types of a URL are decided here, from the table of routes.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import falcon
import orjson
from falcon.routing import CompiledRouter

from trueup.model.errors import PlacementError
from trueup.placement.api.access import Door
from trueup.placement.api.errors import (
    ErrorContext,
    Refused,
    bad_request,
    document,
    page,
    plain_text,
    refusal_of,
)
from trueup.placement.api.http import (
    JSON,
    Answer,
    Request,
    Service,
    content_type,
    http_date,
    preferred_error_type,
    refuse_other_media,
)
from trueup.placement.api.request_ids import REQUEST_ID
from trueup.placement.api.routes import ROUTES, Route
from trueup.placement.api.versions import (
    HEADER,
    SERVICE_TYPE,
    Malformed,
    Unacceptable,
    V,
    negotiate,
)
from trueup.placement.store.availability import is_away

_RETRY_AFTER = "5"
"""Seconds for clients to wait when the database is away."""

_log = logging.getLogger(__name__)

_Responder = Callable[..., None]


def make_api(service: Service, door: Door) -> Any:
    """The application that answers requests, without anything around it."""
    api: Any = falcon.App(middleware=[_Entrance(door)], router=_Router(service))  # type: ignore[call-overload]
    api.resp_options.default_media_type = None
    # Falcon has an answer of its own for its errors; ours replaces both.
    for error in (Exception, falcon.HTTPError):
        api.add_error_handler(error, _answer_error)
    for url in dict.fromkeys(route.url for route in ROUTES):
        api.add_route(url, _Resource([route for route in ROUTES if route.url == url]))
    return api


class _Entrance:
    """What every request passes before its URL is looked at, and every answer on its way out."""

    def __init__(self, door: Door):
        self._door = door

    def process_request(self, raw: falcon.Request, _response: falcon.Response) -> None:
        raw.context.caller = self._door.identify(raw.env)
        try:
            version = negotiate(raw.get_header(HEADER))
        except Unacceptable as error:
            raise Refused(406, f"Invalid microversion: {error}") from error
        except Malformed as error:
            raise bad_request(f"Invalid microversion: {error}") from error
        raw.context.version = version
        raw.env[f"{SERVICE_TYPE}.microversion"] = str(version)
        _refuse_untyped_content(raw)

    def process_response(
        self, raw: falcon.Request, response: falcon.Response, _resource: Any, _succeeded: bool
    ) -> None:
        version = getattr(raw.context, "version", None)
        if version is not None:
            response.set_header(HEADER, f"{SERVICE_TYPE} {version}")
            response.append_header("vary", HEADER)


class _Resource:
    """A URL, with the routes of its methods in the order of the table."""

    def __init__(self, routes: Iterable[Route]):
        self.routes = tuple(routes)
        self.allowed = ", ".join(dict.fromkeys(route.method for route in self.routes))


class _Router:
    """Falcon finds the URL; each method of it, known or not, comes to `_respond`."""

    def __init__(self, service: Service):
        self._service = service
        self._urls = CompiledRouter()

    def add_route(self, url: str, resource: _Resource, **_options: Any) -> None:
        self._urls.add_route(url, resource)

    def find(self, path: str, req: falcon.Request | None = None) -> Any:
        found = self._urls.find(path, req=req)
        if found is None:
            return None
        resource, _, arguments, url = found
        assert isinstance(resource, _Resource)
        return resource, _EveryMethod(resource, self._service), arguments, url


class _EveryMethod:
    """Falcon asks this for the responder of a method."""

    def __init__(self, resource: _Resource, service: Service):
        self._resource, self._service = resource, service

    def __getitem__(self, method: str) -> _Responder:
        resource, service = self._resource, self._service

        def respond(raw: falcon.Request, response: falcon.Response, **arguments: str) -> None:
            route = _route_of(resource, method, raw)
            raw.context.handler = route.handler.__name__
            raw.context.arguments = arguments
            context = raw.context
            request = Request(raw, service, context.version, context.caller)
            _send(route.handler(request, **arguments), raw, response)

        return respond


def _route_of(resource: _Resource, method: str, raw: falcon.Request) -> Route:
    version: V = raw.context.version
    routes = [route for route in resource.routes if route.method == method]
    if not routes:
        raise Refused(
            405,
            "The method specified is not allowed for this resource.",
            headers={"allow": resource.allowed},
        )
    if routes[0].media_first:
        _refuse_media(routes[0], raw)
    for route in routes:
        if route.since <= version <= route.until:
            _refuse_media(route, raw)
            return route
    raise Refused(routes[0].earlier)


def _refuse_media(route: Route, raw: falcon.Request) -> None:
    refuse_other_media(raw, takes_json=route.takes, answers_json=route.answers)


def _refuse_untyped_content(raw: falcon.Request) -> None:
    length = raw.env.get("CONTENT_LENGTH")
    try:
        has_content = int(length or 0) > 0
    except ValueError as error:
        raise bad_request("content-length header must be an integer") from error
    if has_content and not raw.env.get("CONTENT_TYPE"):
        raise bad_request("content-type header required when content-length > 0")


def _send(answer: Answer, raw: falcon.Request, response: falcon.Response) -> None:
    response.status = answer.status
    if answer.body is not None:
        response.content_type = JSON
        response.data = orjson.dumps(answer.body)
    if answer.location is not None:
        response.set_header("location", f"{_origin(raw)}{answer.location}")
    if not answer.cacheable:
        response.set_header("cache-control", "no-cache")
        if answer.last_modified is not None:
            response.set_header("last-modified", http_date(answer.last_modified))


def _origin(raw: falcon.Request) -> str:
    """Where the service is, without a port that goes without saying."""
    default_port = ":443" if raw.scheme == "https" else ":80"
    host: str = raw.netloc.removesuffix(default_port)
    return f"{raw.scheme}://{host}{raw.root_path}"


def _answer_error(
    raw: falcon.Request, response: falcon.Response, error: Exception, _arguments: Any
) -> None:
    refused = _refusal(raw, error)
    context = ErrorContext(
        method=raw.method,
        accept=raw.get_header("Accept") or "",
        content_type=content_type(raw),
        request_id=raw.env.get(REQUEST_ID, ""),
        version=getattr(raw.context, "version", None),
    )
    response.status = refused.status
    media_type = preferred_error_type(raw)
    response.content_type = media_type if media_type == JSON else f"{media_type}; charset=UTF-8"
    if media_type == JSON:
        response.data = orjson.dumps(document(refused, context))
    else:
        render = page if media_type == "text/html" else plain_text
        response.data = render(refused, context).encode()
    for name, value in refused.headers.items():
        response.set_header(name, value)


def _refusal(raw: falcon.Request, error: Exception) -> Refused:
    if isinstance(error, Refused):
        return error
    if isinstance(error, PlacementError):
        handler = getattr(raw.context, "handler", "")
        return refusal_of(error, handler, getattr(raw.context, "arguments", {}))
    if isinstance(error, falcon.HTTPNotFound):
        return Refused(404)
    if isinstance(error, falcon.HTTPError):
        return bad_request(str(error.description or error.title or ""))
    if is_away(error):
        _log.error("The database does not answer: %s", error)
        return Refused(503, "The database does not answer.", headers={"retry-after": _RETRY_AFTER})
    _log.exception("Placement API unexpected error: %s", error)
    return Refused(500, str(error))
