# SPDX-License-Identifier: Apache-2.0
"""Watches and stops the queries of an index, and gives it a clock."""

import threading
from typing import Any

from sqlalchemy import event

from trueup.placement.store.engine.database import Database


class Clock:
    """A clock that a test moves."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def selected_from(database: Database) -> list[str]:
    """The columns of each query from now on."""
    queries: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            queries.append(statement.partition("FROM")[0])

    event.listen(database.engine, "before_cursor_execute", note)
    return queries


def stopped_search(database: Database) -> tuple[threading.Event, threading.Event]:
    """Set by the next search for foreign writes; and what it waits for."""
    searching, released = threading.Event(), threading.Event()

    def stop(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "coalesce(sum(resource_providers.generation" in statement:
            searching.set()
            assert released.wait(30)

    event.listen(database.engine, "before_cursor_execute", stop)
    return searching, released
