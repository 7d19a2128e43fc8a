# SPDX-License-Identifier: Apache-2.0
"""Sends Ctrl-C or SIGTERM to `trueup`, a process of its own, while Placement does not answer."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import requests
from werkzeug.wrappers import Request, Response

from tests.cli.running import Ran
from trueup.lab.serving import serve

PROGRAM = [sys.executable, "-c", "from trueup.cli.start import main; raise SystemExit(main())"]
SECONDS = 60


@dataclass
class Stalling:
    """Passes requests on to a Placement; one of them is done there, and never answered here.

    `stalls` says of the method and path of each request whether it is that one.
    """

    target: str
    stalls: Callable[[str, str], bool] = lambda method, path: False
    arrived: Event = field(default_factory=Event)
    over: Event = field(default_factory=Event)

    def __call__(self, environ: dict[str, Any], start_response: Callable) -> Iterable[bytes]:
        asked = Request(environ)
        # As they are now: a request of a program that was stopped may end when the next one runs.
        stalls, arrived = self.stalls, self.arrived
        answer = requests.request(
            asked.method,
            f"{self.target}{asked.full_path.rstrip('?')}",
            headers={name: value for name, value in asked.headers if name != "Host"},
            data=asked.get_data(),
            timeout=SECONDS,
        )
        is_next = stalls(asked.method, asked.path) and not arrived.is_set()
        # What a program sent before it was stopped may be read when the next one runs.
        if is_next and _is_connected(environ["REMOTE_PORT"]):
            arrived.set()
            self.over.wait(SECONDS)
        response = Response(answer.content, answer.status_code)
        kept = ("content-type", "openstack-api-version")
        for name in kept:
            if name in answer.headers:
                response.headers[name] = answer.headers[name]
        return response(environ, start_response)

    def stall_next(self, method: str, start: str) -> None:
        """Do not answer the next request of this method whose path begins so."""
        self.arrived = Event()
        self.stalls = lambda asked, path: asked == method and path.startswith(start)


def _is_connected(port: int) -> bool:
    """Whether the client that asks from this port of 127.0.0.1 is still there."""
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(
        (address, state) == (f"0100007F:{port:04X}", "01") for _, address, _, state, *_ in sockets
    )


@contextmanager
def stalling(nova_conf: Path, placement_url: str) -> Iterator[Stalling]:
    """Put it between the commands that read this nova.conf and Placement."""
    between = Stalling(placement_url)
    with serve(between) as url:
        nova_conf.write_text(nova_conf.read_text().replace(placement_url, url))
        try:
            yield between
        finally:
            between.over.set()


def interrupted(between: Stalling, *words: object, by: signal.Signals = signal.SIGINT) -> Ran:
    """Run a command line, and send it Ctrl-C when it waits for the answer that does not come."""
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env=dict(os.environ),
    )
    try:
        assert between.arrived.wait(SECONDS), process.communicate(timeout=SECONDS)
        process.send_signal(by)
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return Ran(process.returncode, out, err)
