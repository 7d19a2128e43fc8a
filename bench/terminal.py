# SPDX-License-Identifier: Apache-2.0
"""Lines for whoever waits for a figure."""

import sys


def say(line: str) -> None:
    """One line, at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
