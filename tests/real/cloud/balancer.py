# SPDX-License-Identifier: Apache-2.0
"""A load balancer for one service: a port whose new connections can be sent elsewhere."""

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator

from tests.real.cloud.processes import wait_until
from tests.real.cloud.site import HOST


class Balancer:
    """Carries bytes between one port and the port that is set at the moment."""

    def __init__(self, port: int):
        self._target: int | None = None
        self._open: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._listener = socket.create_server((HOST, port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def send_to(self, port: int) -> None:
        """New connections go there; return when those to the port before have ended."""
        with self._lock:
            before, self._target = self._target, port
        if before not in (None, port):
            wait_until(lambda: self._open[before] == 0, "the old connections end", 30)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            # Counted in one go with the look at the target, or a swap could miss this connection.
            with self._lock:
                target = self._target
                self._open[target] += 1
            try:
                with socket.create_connection((HOST, target)) as server:
                    back = threading.Thread(target=_carry, args=(server, client), daemon=True)
                    back.start()
                    _carry(client, server)
                    back.join()
            except OSError:
                # Nobody listens there: the client is told so by its connection's end. What it sends
                # is read, or it would be told by a reset, depending on who is first.
                _end(client)
            finally:
                with self._lock:
                    self._open[target] -= 1


def _end(client: socket.socket) -> None:
    client.settimeout(5)
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while some := source.recv(65536):
            target.sendall(some)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def balancer_at(port: int) -> Iterator[Balancer]:
    balancer = Balancer(port)
    try:
        yield balancer
    finally:
        balancer.close()
