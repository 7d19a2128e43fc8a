# SPDX-License-Identifier: Apache-2.0
"""The entry points of trueup-manage and trueup-status. Needs only the standard library.

Without the extra of the service they end with the command that installs it.
"""

import os
import sys
from importlib import import_module
from pathlib import Path

from trueup.exit_codes import ExitCode
from trueup.libraries import too_old

# PARITY: for scripts, 2 means that a migration or a check of upstream's commands failed.
_MANAGE_FAILED, _CHECK_FAILED = 1, 255


def manage() -> int:
    """Run trueup-manage; the return value is its exit code."""
    return _start("program", _MANAGE_FAILED)


def status() -> int:
    """Run trueup-status; the return value is its exit code."""
    return _start("status", _CHECK_FAILED)


def _start(module: str, failed: int) -> int:
    name = Path(sys.argv[0]).name
    if refused := too_old():
        sys.stderr.write(f"{name}: {refused}\n")
        return failed
    try:
        # Imported here: importing takes a moment, in which Ctrl-C may come.
        try:
            program = import_module(f"trueup.placement.manage.{module}")
        except ModuleNotFoundError as missing:
            sys.stderr.write(
                f"{name}: this command needs '{missing.name}': pip install 'trueup[service]'.\n"
            )
            return failed
        return int(program.main())
    except KeyboardInterrupt:
        sys.stderr.write(f"{name}: {ExitCode.INTERRUPTED.meaning}.\n")
        sys.stderr.flush()
        # The interpreter would wait for a thread that still reads.
        os._exit(ExitCode.INTERRUPTED)
