# SPDX-License-Identifier: Apache-2.0
"""Switches Python's garbage collection off while a cloud is read or judged."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_left() -> Iterator[None]:
    """No garbage collection runs inside of this.

    PERF: a cloud is read into millions of values, and judged with a million more, that are all
    kept. Scanning them again and again takes a fifth of the time (bench/collecting.py).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
