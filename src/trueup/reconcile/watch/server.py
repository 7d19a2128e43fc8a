# SPDX-License-Identifier: Apache-2.0
"""Serves the page, the metrics and the health of watching over HTTP, from the status alone."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from http import HTTPStatus

from trueup.reconcile.clock import now
from trueup.reconcile.watch.metrics import CONTENT_TYPE, StatusMetrics
from trueup.reconcile.watch.status import WatchStatus
from trueup.web import server
from trueup.web.server import HTML, Answer


def serving(host: str, port: int, status: Callable[[], WatchStatus]) -> AbstractContextManager[int]:
    """Serve while a block runs; yields the port (0 takes a free one). Raises AddressUnusable."""
    metrics = StatusMetrics(status)
    return server.serving(host, port, lambda asked: _answer(asked.path, status(), metrics))


def _answer(path: str, status: WatchStatus, metrics: StatusMetrics) -> Answer:
    match path:
        case "/":
            reason = status.not_ready()
            if not status.page:
                return Answer(f"{reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
            return Answer(status.page, HTML)
        case "/metrics":
            return Answer(metrics.text(), CONTENT_TYPE)
        case "/readyz":
            return _health(status.not_ready())
        case "/livez":
            return _health(status.not_alive(now()))
    return Answer(b"not found; there are / /metrics /readyz /livez\n", status=HTTPStatus.NOT_FOUND)


def _health(reason: str) -> Answer:
    if reason:
        return Answer(f"{reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)
    return Answer(b"ok\n")
