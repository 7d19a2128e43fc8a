# SPDX-License-Identifier: Apache-2.0
"""The outermost middleware: gives each request an ID, and writes the request log.

It wraps authentication, so that the log also has requests whose token is refused.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import quote

from oslo_context.context import RequestContext

from trueup.placement import request_log
from trueup.placement.meter import Meter
from trueup.placement.middleware.beside import ROUTE

REQUEST_ID = "openstack.request_id"
GLOBAL_REQUEST_ID = "openstack.global_request_id"
_HEADER = "x-openstack-request-id"

_GLOBAL_ID = re.compile(
    r"^(req-)?[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$", re.IGNORECASE
)

_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad]")

_log = logging.getLogger(request_log.LOGGER)

_LINE = '%s "%s %s" status: %s len: %s microversion: %s'
# As Nova writes it.
_LINE_WITH_TIME = f"{_LINE} time: %.6f"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def _encoded(found: re.Match[str]) -> str:
    return quote(found[0], encoding="latin-1")


class RequestIds:
    """A WSGI application around another.

    It counts concurrent requests, because a server does not tell how many threads it has; each new
    maximum is passed to `note_threads`. `meter` counts the answers. With `logs_time`, the log has
    the seconds until the answer.
    """

    def __init__(
        self,
        application: Application,
        note_threads: Callable[[int], None],
        *,
        meter: Meter | None = None,
        logs_time: bool = False,
    ):
        self.application = application
        self._note_threads = note_threads
        self._meter, self._logs_time = meter, logs_time
        self._measures = meter is not None or logs_time
        self._counting = Lock()
        self._running = self._running_max = 0

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if not path.isascii() and max(path) > "\xff":
            # In-process clients pass text; WSGI requires its bytes decoded as latin-1.
            environ["PATH_INFO"] = path.encode().decode("latin-1")
        inbound = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
        if _GLOBAL_ID.match(inbound):
            environ[GLOBAL_REQUEST_ID] = inbound
        # The thread's context, so that each log line has the request ID.
        request_id = RequestContext(global_request_id=environ.get(GLOBAL_REQUEST_ID)).request_id
        environ[REQUEST_ID] = request_id
        began = time.perf_counter() if self._measures else 0.0
        if self._meter is not None:
            self._meter.request_begins()

        with self._counting:
            self._running += 1
            if self._running > self._running_max:
                self._running_max = self._running
                self._note_threads(self._running)
        try:
            return self.application(environ, partial(self._answer, environ, start_response, began))
        finally:
            with self._counting:
                self._running -= 1

    def _answer(
        self,
        environ: dict[str, Any],
        start_response: Callable[..., Any],
        began: float,
        status: str,
        headers: list[tuple[str, str]],
        *rest: Any,
    ) -> Any:
        """Begin the answer: add the request ID, log a line, and count the answer."""
        names = {name.lower(): value for name, value in headers}
        if _HEADER not in names:
            headers.append((_HEADER, environ[REQUEST_ID]))
        query = environ.get("QUERY_STRING")
        whole = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        asked = f"{whole}?{query}" if query else whole
        if not asked.isprintable():
            # SAFETY: with a line break, a client could forge lines of the log.
            asked = _UNPRINTABLE.sub(_encoded, asked)
        code = status.split(None, 1)[0]
        seconds = time.perf_counter() - began if self._measures else 0.0
        _log.info(
            _LINE_WITH_TIME if self._logs_time else _LINE,
            environ.get("REMOTE_ADDR", "-"),
            environ["REQUEST_METHOD"],
            asked,
            code,
            names.get("content-length", "-"),
            environ.get("placement.microversion", "-"),
            *((seconds,) if self._logs_time else ()),
        )
        if self._meter is not None:
            route = environ.get(ROUTE, "")
            self._meter.request_answered(environ["REQUEST_METHOD"], route, code, seconds)
        return start_response(status, headers, *rest)
