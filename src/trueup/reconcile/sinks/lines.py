# SPDX-License-Identifier: Apache-2.0
"""A file that gets each message as its next line."""

import os
from dataclasses import dataclass
from pathlib import Path

from trueup.reconcile.files import PRIVATE
from trueup.reconcile.sinks.message import Message


@dataclass(frozen=True, slots=True)
class Lines:
    """A file of JSON lines, made if it is not there. Several processes may append to it."""

    path: Path

    def carry(self, message: Message, line: bytes) -> str:
        """Append the line. It failed if it is not on disk."""
        try:
            # Opened each time: logrotate may have moved the file. A FIFO that nobody reads is an
            # error, and is not waited for.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
            descriptor = os.open(self.path, flags, PRIVATE)
            try:
                written = os.write(descriptor, line + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            return error.strerror or str(error)
        return "" if written == len(line) + 1 else "the disk is full"
