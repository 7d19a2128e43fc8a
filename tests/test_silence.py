# SPDX-License-Identifier: Apache-2.0
"""The limit itself; that servers which freeze are given up is in the tests of both halves."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from trueup.silence import bounded_connection, with_address


@pytest.mark.parametrize(
    ("url", "said", "shown"),
    [
        ("postgresql://h:5432/d", "timeout expired", "timeout expired (h:5432)"),
        ("postgresql://h/d", "timeout expired", "timeout expired (h)"),
        ("mysql://h:1/d", "cannot connect to 'h'", "cannot connect to 'h'"),
        ("sqlite:///file", "locked", "locked"),
    ],
)
def test_a_server_is_named_once(url, said, shown):
    assert with_address(said, make_url(url)) == shown


class Older:
    """A connection of psycopg before 3.3, whose server answers only at these looks."""

    def __init__(self, answers: tuple[bool, ...]):
        self._answers = answers

    def wait(self, steps: Generator[Any, Any, Any]) -> Any:
        try:
            next(steps)
            for is_ready in self._answers:
                steps.send(is_ready)
        except StopIteration as ended:
            return ended.value
        raise AssertionError("it would look for ever")


def statement(answers: int) -> Generator[str, bool, str]:
    while answers:
        answers -= yield "readable"
    return "done"


def driver() -> Any:
    idle = SimpleNamespace(transaction_status=psycopg.pq.TransactionStatus.IDLE)
    connection = type("Connection", (Older,), {"info": idle})
    return SimpleNamespace(
        Connection=connection, OperationalError=psycopg.OperationalError, pq=psycopg.pq
    )


def test_an_older_psycopg_counts_from_the_last_sign_of_life():
    patient = bounded_connection(driver(), 60)
    assert patient((False, True, False, True)).wait(statement(2)) == "done"
    with pytest.raises(psycopg.OperationalError, match="said nothing for 0 s"):
        bounded_connection(driver(), 0)((False, False)).wait(statement(1))
