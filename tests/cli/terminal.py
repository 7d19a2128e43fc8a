# SPDX-License-Identifier: Apache-2.0
"""Runs `trueup` as a process of its own at a terminal, which answers what it is asked."""

import os
import pty
import subprocess
import sys

PROGRAM = [sys.executable, "-c", "from trueup.cli.main import main; raise SystemExit(main())"]


def at_a_terminal(*words: object, typed: str = "") -> tuple[int, str]:
    """The exit code, and what was shown; standard output goes to a pipe and is dropped."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    process.communicate()
    return process.returncode, shown.decode()
