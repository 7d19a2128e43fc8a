# SPDX-License-Identifier: Apache-2.0
"""Garbage collection, where it costs much and finds nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_left() -> Iterator[None]:
    """Nothing is looked through for garbage meanwhile.

    PERF: a cloud is read into millions of values that all stay. Looking through them again and
    again takes a fifth of our time (bench/collecting.py).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
