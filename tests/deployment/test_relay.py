# SPDX-License-Identifier: Apache-2.0
"""What the relay in front of a database keeps."""

import contextlib
import os
import socket
import threading

from tests.deployment.relay import relay_to
from tests.servers.processes import poll


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_connection_that_has_ended_keeps_no_file_open():
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=greet, args=(server,), daemon=True).start()
        with relay_to(server.getsockname()[1]) as relay:
            before = open_files()
            assert [greeting_over(relay.port) for _ in range(20)] == [b"hello"] * 20
            assert poll(lambda: open_files() <= before, 30)


def greeting_over(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as client:
        return client.recv(9)


def greet(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            with client:
                client.sendall(b"hello")
