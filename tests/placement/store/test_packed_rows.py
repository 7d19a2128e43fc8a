# SPDX-License-Identifier: Apache-2.0
from contextlib import closing
from datetime import datetime

import pytest
from sqlalchemy import insert, select

from trueup.placement.store.engine.database import Database
from trueup.placement.store.packed_rows import (
    columns_of,
    packed,
    packed_group,
    parts_of,
    rows_of,
    time_of,
)
from trueup.placement.store.tables import providers

MADE_AT = datetime(2001, 2, 3, 4, 5, 6)
PROVIDERS = (
    {"uuid": "a", "name": "of two\nlines|", "generation": 7, "created_at": MADE_AT},
    {"uuid": "b", "name": None, "generation": 0, "created_at": None},
    {"uuid": "c", "name": "", "generation": 0, "created_at": datetime(2001, 2, 3, 4, 5, 7)},
)
PARTS = (providers.c.id, providers.c.created_at, providers.c.generation, providers.c.name)


def test_rows_come_back_in_their_order(ledger_url: str) -> None:
    with closing(Database(ledger_url)) as database, database.transaction() as tx:
        for row in reversed(PROVIDERS):
            tx.execute(insert(providers).values(**row))
        texts = tx.scalars(select(packed_group(*PARTS)).group_by(providers.c.id % 2)).all()
        one = tx.scalar(select(packed(*PARTS)).where(providers.c.uuid == "b")) or ""
        nothing = tx.scalars(select(packed_group(*PARTS)).where(providers.c.id < 0)).all()
    assert len(texts) == 2
    found = [(time_of(time), *rest) for _, time, *rest in rows_of(texts, len(PARTS))]
    assert found == [
        (datetime(2001, 2, 3, 4, 5, 7), "0", ""),
        (None, "0", ""),
        (MADE_AT, "7", "of two\nlines|"),
    ]
    assert parts_of(one, len(PARTS))[1:] == ["", "0", ""]
    assert rows_of(nothing, len(PARTS)) == []


def test_a_row_that_was_cut_off_is_noticed(ledger_url: str) -> None:
    with closing(Database(ledger_url)) as database, database.transaction() as tx:
        tx.execute(insert(providers).values(**PROVIDERS[2]))
        parts = (providers.c.id, providers.c.uuid, providers.c.generation, providers.c.name)
        text = tx.scalar(select(packed_group(*parts))) or ""
    assert rows_of([text], len(parts)) == [("1", "c", "0", "")]
    for length in range(1, len(text)):
        with pytest.raises(ValueError, match="zip"):
            rows_of([text[:length]], len(parts))


def test_columns_are_in_the_order_of_the_rows(ledger_url: str) -> None:
    with closing(Database(ledger_url)) as database, database.transaction() as tx:
        for row in PROVIDERS:
            tx.execute(insert(providers).values(**row))
        of_both = select(packed_group(providers.c.id, providers.c.uuid, providers.c.name))
        texts = tx.scalars(of_both.group_by(providers.c.id % 2)).all()
    for some in (texts, texts[::-1]):
        ids, uuids, names = columns_of(some, 3)
        assert (ids, uuids) == (["1", "2", "3"], ["a", "b", "c"])
        assert names == ["of two\nlines|", "", ""]
    assert columns_of([None], 3) == [[], [], []]


def test_an_invalid_time_is_unknown() -> None:
    assert time_of("") is None
    assert time_of("0000-00-00 00:00:00") is None
    assert time_of("2001-02-03 04:05:06") == MADE_AT
