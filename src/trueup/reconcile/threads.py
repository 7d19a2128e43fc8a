# SPDX-License-Identifier: Apache-2.0
"""Threads that ask sources side by side. Ctrl-C does not wait for what they are asking."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads(at_once: int) -> Iterator[ThreadPoolExecutor]:
    """At most so many threads while a block runs, which ends when all of them are done.

    After Ctrl-C none of them is waited for: a source that does not answer would hold it up until
    its request times out. They end with the process.
    """
    pool = ThreadPoolExecutor(at_once)
    waits = True
    try:
        yield pool
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=not waits)
