# SPDX-License-Identifier: Apache-2.0
"""Asks the tracer, a program of its own, to run `trueup` and to kill it at a system call."""

import contextlib
import json
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.processes import dies_with_its_parent

REPOSITORY = Path(__file__).parents[2]
COMMAND = Path(sysconfig.get_path("scripts")) / "trueup"


@dataclass(frozen=True)
class Kill:
    """At which call that writes, from 1, and whether the kernel still carries it out."""

    at: int
    when: str = "before"


NEVER = Kill(0)


@dataclass(frozen=True)
class Traced:
    """How it ended: its exit code or minus a signal, its calls that write, what it printed."""

    code: int
    calls: tuple[str, ...]
    output: str

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Tracing:
    """The tracer, which runs one command after the other."""

    def __init__(self, process: subprocess.Popen, folder: Path) -> None:
        self._process = process
        self._output = folder / "output"

    def run(
        self, words: list[str], environment: Mapping[str, str], kill: Kill = NEVER,
        command: bool = True,
    ) -> Traced:  # fmt: skip
        """Run `trueup` with these words; without `command` a fork of a warm interpreter does."""
        request = {
            "words": words,
            "environment": {**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            "command": str(COMMAND) if command else "",
            "at": kill.at,
            "when": kill.when,
            "output": str(self._output),
        }
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        return Traced(found["code"], tuple(found["calls"]), self._output.read_text())


@contextlib.contextmanager
def tracer(folder: Path) -> Iterator[Tracing]:
    """A tracer that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kills.tracer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        preexec_fn=dies_with_its_parent(signal.SIGKILL),
    )
    try:
        yield Tracing(process, folder)
    finally:
        process.kill()
        process.communicate()
