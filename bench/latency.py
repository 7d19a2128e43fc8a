# SPDX-License-Identifier: Apache-2.0
"""A network between a service and its database: a relay that delivers each message later."""

import contextlib
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

# A process of its own: threads of the benchmark would wait for each other.
_processes = multiprocessing.get_context("spawn")


@contextlib.contextmanager
def relay_to(port: int, seconds: float) -> Iterator[int]:
    """The port of a relay to a loopback port, which delays each way by so much."""
    ours, theirs = _processes.Pipe()
    process = _processes.Process(target=_serve, args=(port, seconds, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(port: int, seconds: float, end: Connection) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end.send(listener.getsockname()[1])
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", port))
            for source, target in ((client, server), (server, client)):
                target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                carrying = threading.Thread(target=_carry, args=(source, target, seconds))
                carrying.daemon = True
                carrying.start()


def _carry(source: socket.socket, target: socket.socket, seconds: float) -> None:
    """Client and server take turns, so a message seldom waits for the one before it."""
    with contextlib.suppress(OSError):
        while message := source.recv(1 << 20):
            time.sleep(seconds)
            target.sendall(message)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
