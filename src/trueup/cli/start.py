# SPDX-License-Identifier: Apache-2.0
"""Starts the `trueup` program. Ctrl-C and SIGTERM end it with a sentence, also amid imports."""

import os
import signal
import sys

from trueup.exit_codes import ExitCode
from trueup.libraries import too_old


def main() -> int:
    """Run the command line of this process; the return value is the exit code."""
    if refused := too_old():
        sys.stderr.write(f"trueup: {refused}\n")
        return int(ExitCode.USAGE)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Imported here: importing takes a moment, in which Ctrl-C may come.
        from trueup.cli.main import main as run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write(f"trueup: {ExitCode.INTERRUPTED.meaning}.\n")
        code = ExitCode.INTERRUPTED
    if code == ExitCode.INTERRUPTED:
        _end_now()
    return int(code)


def _end_now() -> None:
    """End without waiting for the threads that still read: the interpreter would wait for them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(ExitCode.INTERRUPTED)
