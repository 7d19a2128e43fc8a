# SPDX-License-Identifier: Apache-2.0
"""Standard output whose reader may stop reading, as in `trueup plan | head`."""

import os
import sys
from contextlib import suppress

from rich.console import Console


class PageConsole(Console):
    """A console that raises BrokenPipeError, where rich would end the program."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def discard_output() -> None:
    """Send what is still to be printed nowhere: the interpreter writes the rest when it ends."""
    # In a test, standard output is no file.
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
