# SPDX-License-Identifier: Apache-2.0
"""Child processes that serve a loopback port and never outlive the tests that started them."""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS_TO_START = 60
SECONDS_TO_STOP = 10
SECONDS_BETWEEN_LOOKS = 0.02
PORTS_TO_TRY = 3
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class ProgramMissing(Exception):
    """A program that a test needs is not installed; the text says what to install."""


class ServerFailed(Exception):
    """A server ended, or stayed silent, before it could be used."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """What has to be known to run one server."""

    command: Callable[[int], Sequence[str]]
    ready: Callable[[int], bool]
    log: Path
    account: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    environment: Mapping[str, str] | None = None


@contextlib.contextmanager
def serving(program: ServerProgram) -> Iterator[int]:
    """The port on which the program answers; it is stopped at the end, whatever happened."""
    for attempt in range(1, PORTS_TO_TRY + 1):
        port = free_port()
        process = start(program, port)
        try:
            if came_up(process, program, port):
                yield port
                return
        finally:
            stop(process, program.stop_signal)
        # Somebody else may have taken the port between our look and the server's bind.
        if attempt == PORTS_TO_TRY:
            raise ServerFailed(f"{program.command(port)[0]}:\n{program.log.read_text()[-4000:]}")


def poll(happened: Callable[[], bool], seconds: float) -> bool:
    """Check repeatedly until the condition holds or the time is over."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return True


def find_program(name: str, package: str, *folders: str) -> str:
    """The path of a program, also where Debian keeps it outside of PATH."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])
    found = shutil.which(name, path=path)
    if found is None:
        raise ProgramMissing(f"{name} was not found: install the package {package}")
    return found


def unprivileged_account(preferred: str) -> str | None:
    """Whom to run as: database servers refuse root. None when we are not root ourselves."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return preferred if preferred in known else "nobody"


@contextlib.contextmanager
def private_folder(purpose: str, account: str | None) -> Iterator[Path]:
    """A temporary folder that the account owns.

    It is not one of pytest's: those are closed to other accounts, their paths are too long for
    a unix socket, and three generations of them are kept.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"trueup-{purpose}-"))
    try:
        if account:
            shutil.chown(folder, account)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_as(account: str | None, command: Sequence[str]) -> None:
    """Run a program to its end; what it printed becomes the error when it fails."""
    done = subprocess.run(
        command, **_identity(account), capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        raise ServerFailed(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-4000:]}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def dies_with_its_parent(stop_signal: signal.Signals) -> Callable[[], None]:
    """To be called in the child: it gets the signal when the thread that started it ends."""

    def ask_for_the_signal() -> None:
        # SAFETY: a test run that is killed must not leave servers behind.
        if _LIBC is not None:
            _LIBC.prctl(PR_SET_PDEATHSIG, stop_signal)

    return ask_for_the_signal


def start(program: ServerProgram, port: int) -> subprocess.Popen:
    """Start the program on this port; it ends with the process that started it."""
    environment = {**os.environ, **(program.environment or {})}
    with program.log.open("ab") as log:
        return subprocess.Popen(
            list(program.command(port)),
            **_identity(program.account),
            preexec_fn=dies_with_its_parent(program.stop_signal),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment,
        )


def _identity(account: str | None) -> dict:
    return {"user": account, "group": _group(account), "extra_groups": []} if account else {}


def _group(account: str) -> int:
    return pwd.getpwnam(account).pw_gid


def came_up(process: subprocess.Popen, program: ServerProgram, port: int) -> bool:
    """Wait until the program is ready; False if it ended, or did not become ready in time."""

    def settled() -> bool:
        return process.poll() is not None or program.ready(port)

    return poll(settled, SECONDS_TO_START) and process.poll() is None


def stop(process: subprocess.Popen, stop_signal: signal.Signals) -> None:
    """End the program and wait for its end; it is killed if it does not end in time."""
    if process.poll() is not None:
        return
    process.send_signal(stop_signal)
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
