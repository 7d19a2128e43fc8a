# SPDX-License-Identifier: Apache-2.0
"""A command that gets each message on its standard input."""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass

from trueup.reconcile.sinks.message import Message

COMMAND_SECONDS = 30.0
_WORDS_MAX = 300


@dataclass(frozen=True, slots=True)
class Command:
    """A command, as a shell splits it into words; no shell runs it."""

    words: tuple[str, ...]
    seconds: float = COMMAND_SECONDS

    def carry(self, message: Message, line: bytes) -> str:
        """Run the command. It failed if it did not end with 0 in time."""
        try:
            process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return f"it cannot be started: {error}"
        try:
            _, output = process.communicate(line + b"\n", self.seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            return f"it did not end within {self.seconds:g} s, and was killed"
        except BaseException:
            _kill(process)
            raise
        if not process.returncode:
            return ""
        words = " ".join(output.decode(errors="replace").split())[:_WORDS_MAX]
        return f"it ended with {process.returncode}" + (f": {words}" if words else "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the command and its child processes."""
    # It was not waited for, so no other process can have its number.
    with suppress(PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
