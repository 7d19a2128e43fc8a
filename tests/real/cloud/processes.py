# SPDX-License-Identifier: Apache-2.0
"""The processes of the cloud, each known by a name, each with a log of its own."""

import contextlib
import http.client
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.servers.processes import dies_with_its_parent

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_STOP = 20


class DidNotHappen(Exception):
    """Something that the cloud was waited for did not happen in time."""


class CommandFailed(Exception):
    """A program ended with an exit code that was not expected."""


def wait_until(happened: Callable[[], bool], what: str, seconds: float = 90) -> None:
    """Look again and again. DidNotHappen when the time is over."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise DidNotHappen(f"{what}: not within {seconds} s")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def run(
    command: Sequence[object],
    environment: Mapping[str, str],
    expected: Sequence[int] = (0,),
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. CommandFailed unless its exit code is one of the expected ones."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in expected:
        said = (done.stdout + done.stderr)[-4000:]
        raise CommandFailed(f"{' '.join(words)} ended with {done.returncode}:\n{said}")
    return done


def answers_http(port: int) -> bool:
    """Is there a web server that answers, whatever it says?"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
    return True


class Processes:
    """Each process leads a group of its own, so that its children end with it.

    Start them from the main thread: Linux ends a process with the thread that started it.
    """

    def __init__(self, logs: Path):
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[object], environment: Mapping[str, str]) -> None:
        assert not self.is_running(name), f"{name} is running"
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [str(word) for word in command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=dies_with_its_parent(signal.SIGTERM),
            )

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def is_running(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def stop(self, name: str) -> None:
        """Ask it to end, and end what is left of its group."""
        self._running[name].terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._running[name].wait(SECONDS_TO_STOP)
        self.kill(name)

    def kill(self, name: str) -> None:
        """End it at once, as when the power goes."""
        process = self._running.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def kill_all(self) -> None:
        for name in reversed(list(self._running)):
            self.kill(name)

    def ended(self) -> list[str]:
        """Which of them ended although nobody stopped them."""
        return [name for name, process in self._running.items() if process.poll() is not None]


@contextlib.contextmanager
def processes_in(logs: Path) -> Iterator[Processes]:
    """Whatever happens, nothing of them is left at the end."""
    logs.mkdir(parents=True, exist_ok=True)
    processes = Processes(logs)
    try:
        yield processes
    finally:
        processes.kill_all()
