# SPDX-License-Identifier: Apache-2.0
"""Serves a WSGI application on the loopback interface, in threads, while a `with` block runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from wsgiref.types import WSGIApplication

from werkzeug.serving import WSGIRequestHandler, make_server

LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.05


class _RequestHandler(WSGIRequestHandler):
    """Logs only errors, not every request."""

    # PERF: headers and body are sent in two segments; Nagle's algorithm would delay the second.
    disable_nagle_algorithm = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


@contextmanager
def serve(application: WSGIApplication) -> Iterator[str]:
    """Serve on a free port and yield the URL. When the block ends, the port is closed."""
    server = make_server(LOOPBACK, 0, application, threaded=True, request_handler=_RequestHandler)
    thread = Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.port}"
    finally:
        server.shutdown()
        thread.join()
