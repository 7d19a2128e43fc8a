# SPDX-License-Identifier: Apache-2.0
"""Traces across services with osprofiler, as in all of OpenStack's services.

A request is traced if it has osprofiler's headers, signed with one of the keys in `[profiler]
hmac_keys`. What is traced goes where `connection_string` says. The library is optional; this module
imports it, and is itself imported only if `[profiler] enabled` is set.
"""

import os
import socket
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from osprofiler import initializer, web

_PROJECT = "placement"
_TRACED = f"HTTP_{web.X_TRACE_INFO.upper().replace('-', '_')}"


class Traced:
    """A WSGI application around another, which traces the requests that ask for it."""

    def __init__(self, application: Any, source: Any):
        self._application, self._source = application, source
        self._tracing = web.WsgiMiddleware.factory({}, **source.profiler)(application)
        self._connecting = Lock()
        self._connected_in = 0

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        # PERF: the middleware makes objects of every request and answer.
        if _TRACED not in environ:
            answer: Iterable[bytes] = self._application(environ, start_response)
            return answer
        self._connect()
        traced: Iterable[bytes] = self._tracing(environ, start_response)
        return traced

    def _connect(self) -> None:
        """Connect to the collector once in each process: servers fork after they have loaded us,
        and a connection must not have two owners."""
        with self._connecting:
            if self._connected_in == os.getpid():
                return
            initializer.init_from_conf(
                conf=self._source,
                context={},
                project=_PROJECT,
                service=_PROJECT,
                host=socket.gethostname(),
            )
            self._connected_in = os.getpid()
