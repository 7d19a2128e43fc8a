# SPDX-License-Identifier: Apache-2.0
"""A database server that is silent: psycopg's limit for it, and the words that name the server.

A frozen server still accepts bytes, so no timeout of TCP ends the wait for its answer.
"""

import time
from collections.abc import Generator
from inspect import signature
from typing import Any

NOT_A_URL = (
    "it is not DRIVER://USER:PASSWORD@HOST:PORT/DATABASE. "
    "In a password, write %40 for @ and %25 for %"
)


def with_address(said: str, url: Any) -> str:
    """The driver's words, and the server's address where they lack it."""
    if not url.host or url.host in said:
        return said
    return f"{said} ({url.host}:{url.port})" if url.port else f"{said} ({url.host})"


def bounded_connection(driver: Any, seconds: int | None) -> Any:
    """psycopg's connections, with a limit for the server's silence."""
    kind: Any = driver.Connection
    if seconds is None:
        return kind
    # psycopg 3.3 has a timeout of its own.
    counts_itself = "timeout" in signature(kind.wait).parameters

    def wait(connection: Any, steps: Generator[Any, Any, Any], *more: Any, **options: Any) -> Any:
        if counts_itself:
            options.setdefault("timeout", seconds)
        else:
            steps = _until_silent(steps, seconds, driver.OperationalError)
        try:
            return kind.wait(connection, steps, *more, **options)
        except driver.OperationalError:
            if connection.info.transaction_status == driver.pq.TransactionStatus.ACTIVE:
                # SAFETY: the answer may still come, and would be taken for the next statement's.
                connection.close()
            raise

    return type("BoundedConnection", (kind,), {"wait": wait})


def _until_silent(
    steps: Generator[Any, Any, Any], seconds: int, error: type[Exception]
) -> Generator[Any, Any, Any]:
    """The steps of a statement. Raises this error if the server is silent for so long."""
    ends = time.monotonic() + seconds
    try:
        awaited = next(steps)
        while True:
            is_ready = yield awaited
            # psycopg sends 0 several times a second while the server is silent.
            if is_ready:
                ends = time.monotonic() + seconds
            elif time.monotonic() > ends:
                raise error(f"the server said nothing for {seconds} s")
            awaited = steps.send(is_ready)
    except StopIteration as ended:
        return ended.value
