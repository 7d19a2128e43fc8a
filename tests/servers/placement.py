# SPDX-License-Identifier: Apache-2.0
"""A Placement server on the loopback interface, in a process of its own.

In a process, because upstream keeps its database and policy in globals: threads of one process
could not serve two databases.
"""

import atexit
import contextlib
import functools
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.processes import ServerFailed, ServerProgram, poll, private_folder, start

# Under this name tests are parametrised; "module:callable" of a factory that takes a database
# URL and settings ({group: {option: value}}) and returns a WSGI application.
IMPLEMENTATIONS = {
    "upstream": "tests.servers.upstream:make_app",
    "trueup": "trueup.placement.app:make_app",
}
NOAUTH: Mapping[str, Mapping[str, Any]] = {"api": {"auth_strategy": "noauth2"}}
REPOSITORY = Path(__file__).parents[2]
SECONDS_TO_IMPORT = 60
SECONDS_TO_START = 60


@dataclass(frozen=True, slots=True)
class PlacementServer:
    """Where it answers (token `admin`), and how to stop it before its time."""

    implementation: str
    url: str
    stop: Callable[[], None]


@contextlib.contextmanager
def placement_server(
    implementation: str,
    database_url: str,
    settings: Mapping[str, Mapping[str, Any]] = NOAUTH,
) -> Iterator[PlacementServer]:
    """Serve the database; `implementation` is a name of IMPLEMENTATIONS or module:callable."""
    factory = IMPLEMENTATIONS.get(implementation, implementation)
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(private_folder("placement", None)) / "server.log"
        order = {
            "database": database_url,
            "settings": settings,
            "log": str(log),
            "environment": dict(os.environ),
        }
        connection = stack.enter_context(_connected(factory))
        stack.callback(_stop, connection)
        connection.sendall(json.dumps(order).encode() + b"\n")
        port = connection.makefile().readline().strip()
        if not port:
            raise ServerFailed(f"{factory}:\n{log.read_text()[-4000:]}")
        yield PlacementServer(implementation, f"http://127.0.0.1:{port}", stack.close)


def _stop(connection: socket.socket) -> None:
    """The server ends with its connection, and the connection with the server."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    connection.recv(1)


def _connected(factory: str) -> socket.socket:
    """A connection to the process of this factory, which makes a server of it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SECONDS_TO_START)
    try:
        connection.connect(str(_imported(factory)))
    except OSError:
        # It ended with the thread that had started it.
        _imported.cache_clear()
        connection.connect(str(_imported(factory)))
    return connection


@functools.cache
def _imported(factory: str) -> Path:
    """The socket of a process that has imported it, and lives as long as this one."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(private_folder("placement", None))
    path, log = folder / "socket", folder / "server.log"
    program = ServerProgram(
        command=lambda _: (sys.executable, "-m", "tests.servers.wsgi", factory, str(path)),
        ready=lambda _: path.exists(),
        log=log,
        environment={"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"},
    )
    process = start(program, 0)
    stack.callback(process.kill)
    if not poll(lambda: path.exists() or process.poll() is not None, SECONDS_TO_IMPORT):
        process.kill()
    if process.poll() is not None:
        raise ServerFailed(f"{factory}:\n{log.read_text()[-4000:]}")
    return path
