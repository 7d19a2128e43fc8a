# SPDX-License-Identifier: Apache-2.0
"""Traces across services with osprofiler, as in all of OpenStack's services.

A request is traced if it has osprofiler's headers, signed with one of the keys in `[profiler]
hmac_keys`. Traces are sent to `connection_string`. The library is optional, and imported only if
`[profiler] enabled` is set.
"""

import os
import socket
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

_PROJECT = "placement"
# The header of a request to be traced, in the WSGI environment.
_ASKED = "HTTP_X_TRACE_INFO"


class Traced:
    """A WSGI application around another, which traces requests with osprofiler's headers."""

    def __init__(self, application: Any, source: Any):
        """Raises ImportError without osprofiler."""
        from osprofiler import initializer, web

        self._application, self._source = application, source
        self._initialize = initializer.init_from_conf
        self._tracing = web.WsgiMiddleware.factory({}, **source.profiler)(application)
        self._connecting = Lock()
        self._connected_in = 0

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        # PERF: the middleware makes objects for every request and answer.
        if _ASKED not in environ:
            answer: Iterable[bytes] = self._application(environ, start_response)
            return answer
        self._connect()
        traced: Iterable[bytes] = self._tracing(environ, start_response)
        return traced

    def _connect(self) -> None:
        """Connect to the collector once in each process: servers fork after loading the
        application, and a connection must not have two owners."""
        with self._connecting:
            if self._connected_in == os.getpid():
                return
            self._initialize(
                conf=self._source,
                context={},
                project=_PROJECT,
                service=_PROJECT,
                host=socket.gethostname(),
            )
            self._connected_in = os.getpid()
