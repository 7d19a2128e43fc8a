# SPDX-License-Identifier: Apache-2.0
"""Prints progress."""

import sys


def say(line: str) -> None:
    """Print one line immediately, even into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
