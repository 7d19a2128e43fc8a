# SPDX-License-Identifier: Apache-2.0
"""Real receivers of messages: an HTTP server, and servers of syslog over UDP, TCP and TLS."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.message import Message as Headers
from pathlib import Path
from threading import Thread

from trueup.reconcile.sinks import Message
from trueup.web.listening import RequestHandler, listening

AT = datetime(2026, 11, 26, 21, 0, 1, 250_000)


def message(number: int = 1, grave: bool = False) -> Message:
    cadf = {"typeURI": "event", "number": number}
    return Message(f"run/{number}", "step-ended", AT, {"é": number}, cadf, grave)


@dataclass
class Posted:
    """What a web server got; it answers with these statuses, the last of them for good."""

    statuses: list[int] = field(default_factory=lambda: [204])
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)


@contextmanager
def web_server(posted: Posted) -> Iterator[int]:
    class Handler(RequestHandler):
        def do_POST(self) -> None:
            posted.headers.append(self.headers)
            posted.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            status = posted.statuses.pop(0) if len(posted.statuses) > 1 else posted.statuses[0]
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            posted.bodies.append(b"GET")
            self.send_response(200)
            self.end_headers()

    with listening("127.0.0.1", 0, Handler) as port:
        yield port


def _content(connection: socket.socket, context: ssl.SSLContext | None) -> bytes:
    wrapped = context.wrap_socket(connection, True) if context else connection
    return b"".join(iter(lambda: wrapped.recv(65536), b""))


@contextmanager
def stream_server(context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A server of TCP, or of TLS; yields its port and the bytes of each connection so far."""
    got: list[bytes] = []
    # Connections are accepted in order, so one more is the last.
    last = socket.socket()
    last.bind(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            connection, peer = server.accept()
            with connection:
                if peer == last.getsockname():
                    return
                with suppress(OSError):
                    got.append(_content(connection, context))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], got
        with last:
            last.connect(server.getsockname())
            thread.join()


def certificate(folder: Path) -> ssl.SSLContext:
    """The context of a server with a certificate for localhost, which lies at `cert.pem`."""
    words = (
        "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout key.pem "
        "-out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context
