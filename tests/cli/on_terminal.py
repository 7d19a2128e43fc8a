# SPDX-License-Identifier: Apache-2.0
"""Runs `trueup` as a process of its own at a terminal, which answers what it is asked."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios

PROGRAM = [sys.executable, "-c", "from trueup.cli.main import main; raise SystemExit(main())"]


def at_a_terminal(
    *words: object, typed: str = "", typed_when: tuple[str, str] = ("", "")
) -> tuple[int, str]:
    """The exit code, and what was shown; standard output goes to a pipe and is dropped.

    `typed` is typed at once; of `typed_when` the second, when the first is shown.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_own_terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown, (words_due, keys) = b"", typed_when
    due = words_due.encode()
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        shown += piece
        if due and due in shown:
            os.write(ours, keys.encode())
            due = b""
    os.close(ours)
    process.communicate()
    # Ctrl-C may cut a character of the progress in two.
    return process.returncode, shown.decode(errors="replace")


def _own_terminal() -> None:
    """Ctrl-C goes to the processes whose terminal it is; tests in the background ignore it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
