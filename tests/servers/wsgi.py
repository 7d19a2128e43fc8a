# SPDX-License-Identifier: Apache-2.0
"""The process behind `placement_server`: one WSGI application on one loopback port.

python -m tests.servers.wsgi MODULE:FACTORY DATABASE_URL SETTINGS_AS_JSON PORT
"""

import importlib
import json
import signal
import socketserver
import sys
from collections.abc import Callable
from wsgiref import simple_server


class ThreadedServer(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class RequestHandler(simple_server.WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """The log is for what goes wrong, not for each request."""

    def get_environ(self) -> dict[str, str]:
        environ = super().get_environ()
        # wsgiref invents text/plain when a request has no content type; Placement minds.
        if self.headers.get("content-type") is None:
            environ["CONTENT_TYPE"] = ""
        return environ


def factory_named(name: str) -> Callable:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def main(factory: str, database_url: str, settings: str, port: str) -> None:
    application = factory_named(factory)(database_url, json.loads(settings))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with simple_server.make_server(
        "127.0.0.1", int(port), application, ThreadedServer, RequestHandler
    ) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
