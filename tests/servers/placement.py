# SPDX-License-Identifier: Apache-2.0
"""A Placement server on the loopback interface, in a process of its own.

In a process, because upstream keeps its database and policy in globals: threads of one process
could not serve two databases.
"""

import contextlib
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.processes import ServerProgram, private_folder, serving

# Under this name tests are parametrised; "module:callable" of a factory that takes a database
# URL and settings ({group: {option: value}}) and returns a WSGI application.
IMPLEMENTATIONS = {
    "upstream": "tests.servers.upstream:make_app",
    "trueup": "trueup.placement.app:make_app",
}
NOAUTH: Mapping[str, Mapping[str, Any]] = {"api": {"auth_strategy": "noauth2"}}
REPOSITORY = Path(__file__).parents[2]


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

    def command(port: int) -> tuple[str, ...]:
        main = (sys.executable, "-m", "tests.servers.wsgi")
        return (*main, factory, database_url, json.dumps(settings), str(port))

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(private_folder("placement", None))
        program = ServerProgram(
            command=command,
            ready=lambda port: _answers(f"http://127.0.0.1:{port}/"),
            log=folder / "server.log",
            environment={"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"},
        )
        port = stack.enter_context(serving(program))
        yield PlacementServer(implementation, f"http://127.0.0.1:{port}", stack.close)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as refusal:
        refusal.close()
        return True
    except OSError:
        return False
