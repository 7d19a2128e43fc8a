# SPDX-License-Identifier: Apache-2.0
"""The process behind `placement_server`: it makes one server for each that connects to it.

PERF: importing an implementation takes seconds of the processor, and hundreds of tests want a
server of their own. This process imports it once; every server is a fork of it.

python -m tests.servers.wsgi MODULE:FACTORY UNIX_SOCKET
"""

import gc
import importlib
import json
import os
import signal
import socket
import socketserver
import sys
import threading
import traceback
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


def main(factory: str, path: str) -> None:
    make = factory_named(factory)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _serve_until_closed(make, connection)
            connection.close()


def _serve_until_closed(make: Callable, connection: socket.socket) -> None:
    """One server, as the first line asks; its port is the answer. It ends with the connection."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        order = json.loads(connection.makefile().readline())
        with open(order["log"], "ab") as log:
            os.dup2(log.fileno(), sys.stdout.fileno())
            os.dup2(log.fileno(), sys.stderr.fileno())
        os.environ.clear()
        os.environ.update(order["environment"])
        application = make(order["database"], order["settings"])
        server = simple_server.make_server(
            "127.0.0.1", 0, application, ThreadedServer, RequestHandler
        )
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        connection.sendall(f"{server.server_port}\n".encode())
        server.serve_forever()
    except BaseException:  # whatever it was, it is in the log, and this fork does not go on
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def _end_with(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
