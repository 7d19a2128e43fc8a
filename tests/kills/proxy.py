# SPDX-License-Identifier: Apache-2.0
"""A port in front of a service: counts the writes it accepts, and meddles with the next ones."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECONDS = 60
LOOPBACK = "127.0.0.1"


class Wrong(Enum):
    """What goes wrong with one write."""

    CUT_BEFORE = "the connection is cut, and the service never gets it"
    CUT_AFTER = "the service commits, and the connection is cut"
    CONFLICT = "409 is answered instead of the service"
    CONFLICT_AFTER = "409 is answered though the service commits"
    ERROR = "500 is answered instead of the service"
    ERROR_AFTER = "500 is answered though the service commits"
    BUSY = "503 is answered instead of the service"
    BUSY_AFTER = "503 is answered though the service commits"
    LATE = "the connection is cut, and the service gets it later"
    TWICE = "the service gets it twice, and its second answer is passed on"


# What happens to a write: it goes wrong, or something is done before it arrives; or nothing.
Event = Wrong | Callable[[], object] | None
_STATUS = {"CONFLICT": 409, "ERROR": 500, "BUSY": 503}


@dataclass(frozen=True)
class Request:
    """As it came: to be sent to the service as it is, even if its body is cut short."""

    method: str
    content: bytes
    complete: bool

    @property
    def writes(self) -> bool:
        return self.method != "GET"


class Proxy:
    """What went through, and what is to go wrong next. `extra` headers go with every request."""

    def __init__(self, port: int, extra: Mapping[str, str]) -> None:
        self.accepted = 0
        self.url = ""
        self._port, self.extra = port, extra
        self._lock = threading.Condition()
        self._under_way = 0
        self._events: list[Event] = []
        self._late: list[Request] = []

    def spoil(self, *events: Event) -> None:
        """What happens to the next writes, one after the other."""
        self._events = list(events)

    def deliver(self) -> None:
        """Let what is late arrive now."""
        late, self._late = self._late, []
        for request in late:
            self._forwarded(request)

    def settle(self) -> None:
        """Return when the service has answered all that was sent to it."""
        with self._lock:
            assert self._lock.wait_for(lambda: not self._under_way, SECONDS)

    def answer(self, request: Request) -> bytes:
        """What the client gets; nothing: its connection is cut."""
        wrong = self._events.pop(0) if request.writes and self._events else None
        if not isinstance(wrong, Wrong):
            if wrong is not None:
                wrong()
            return self._forwarded(request)
        if wrong is Wrong.LATE:
            self._late.append(request)
        elif wrong.name.endswith("_AFTER"):
            self._forwarded(request)
        elif wrong is Wrong.TWICE:
            self._forwarded(request)
            return self._forwarded(request)
        status = _STATUS.get(wrong.name.removesuffix("_AFTER"))
        return _document(status) if status else b""

    def _forwarded(self, request: Request) -> bytes:
        with self._lock:
            self._under_way += 1
        try:
            with socket.create_connection((LOOPBACK, self._port), SECONDS) as service:
                service.sendall(request.content)
                if not request.complete:
                    service.shutdown(socket.SHUT_WR)
                answered = b"".join(iter(lambda: service.recv(65536), b""))
            with self._lock:
                self.accepted += request.writes and answered.split(b" ", 2)[1].startswith(b"2")
            return answered
        finally:
            with self._lock:
                self._under_way -= 1
                self._lock.notify_all()


def _document(status: int) -> bytes:
    error = {"status": status, "title": "planted", "detail": "planted"}
    body = json.dumps({"errors": [error]}).encode()
    head = f"HTTP/1.0 {status} Planted\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Handler(BaseHTTPRequestHandler):
    """Each request is one connection, to us and to the service."""

    proxy: Proxy

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = [(name, value) for name, value in self.headers.items() if name != "Connection"]
        named = [*headers, *self.proxy.extra.items(), ("Connection", "close")]
        lines = "".join(f"{name}: {value}\r\n" for name, value in named)
        content = f"{self.command} {self.path} HTTP/1.0\r\n{lines}\r\n".encode() + body
        answered = self.proxy.answer(Request(self.command, content, len(body) == length))
        self.close_connection = True
        # Whoever asked may be dead.
        with contextlib.suppress(OSError):
            self.wfile.write(answered)

    do_GET = do_PUT = do_POST = do_DELETE = _any

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that was killed leaves broken connections."""


@contextlib.contextmanager
def proxy_to(port: int, extra: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """A proxy before a loopback port, while a block runs."""
    proxy = Proxy(port, extra or {})
    handler = type("Handler", (_Handler,), {"proxy": proxy})
    server = _Server((LOOPBACK, 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    proxy.url = f"http://{LOOPBACK}:{server.server_port}"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
