# SPDX-License-Identifier: Apache-2.0
"""A port in front of a database server, which can make the server unreachable, frozen or well."""

import contextlib
import socket
import threading
from collections.abc import Iterator


class Relay:
    """Carries bytes between a loopback port and a server. After `cut` it refuses connections."""

    def __init__(self, port: int):
        self._server_port = port
        self._lock = threading.Lock()
        self._ends: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._flows = threading.Event()
        self._flows.set()
        self.port = 0
        self.mend()

    def mend(self) -> None:
        """Listen, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen()
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def freeze(self) -> None:
        """Keep every connection, accept new ones, and carry no byte until `thaw`."""
        self._flows.clear()

    def thaw(self) -> None:
        """Carry again, what came meanwhile too."""
        self._flows.set()

    def cut(self) -> None:
        """End every connection, and refuse new ones."""
        if self._listener is not None:
            # Only closing would leave the thread that accepts, and with it the port, as it is.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        with self._lock:
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._ends.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                # The server is away; so are we.
                client.close()
                continue
            with self._lock:
                self._ends |= {client, server}
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        back = threading.Thread(target=self._carry, args=(server, client), daemon=True)
        back.start()
        self._carry(client, server)
        back.join()
        # A process that ran for two hours would have no file descriptor left.
        with self._lock:
            self._ends -= {client, server}
        for end in (client, server):
            end.close()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while some := source.recv(65536):
                self._flows.wait()
                target.sendall(some)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.cut()
