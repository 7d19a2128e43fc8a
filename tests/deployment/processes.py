# SPDX-License-Identifier: Apache-2.0
"""A server process of a deployment: its port, how to stop it, and its output."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.processes import free_port, poll

SCRIPTS = Path(sysconfig.get_path("scripts"))
SECONDS_TO_START = 60
SECONDS_TO_STOP = 30


@dataclass(frozen=True)
class Process:
    """A server on a loopback port."""

    process: subprocess.Popen
    port: int
    log: Path

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        """The status, and the document if there is one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.request("GET", path, headers=named)
            answer = connection.getresponse()
            body = answer.read()
        return answer.status, json.loads(body) if body else None

    def put(self, path: str, body: Any, **headers: str) -> int:
        """The status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            named["content-type"] = "application/json"
            connection.request("PUT", path, json.dumps(body), named)
            return connection.getresponse().status

    def answers(self) -> bool:
        try:
            return self.get("/")[0] > 0
        except OSError:
            return False

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS_TO_STOP)


@contextlib.contextmanager
def server(
    command: Callable[[int], Sequence[str]], folder: Path, environment: Mapping[str, str]
) -> Iterator[Process]:
    """Run a command with a free port until the block ends."""
    port, log = free_port(), folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(command(port)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), "PYTHONWARNINGS": "ignore", **environment},
            start_new_session=True,
        )
    running = Process(process, port, log)
    try:
        assert poll(lambda: process.poll() is not None or running.answers(), SECONDS_TO_START)
        assert process.poll() is None, log.read_text()
        yield running
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def trueup(*words: str) -> list[str]:
    return [sys.executable, str(SCRIPTS / "trueup"), *words]
