# SPDX-License-Identifier: Apache-2.0
"""Tables fit where there is a width, and no word is ever broken: a uuid can be copied."""

import argparse
import io
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueup.cli.terminal.tables import FittedTable, blocks, fitted

NAMES = ("Verdict", "Subject", "Evidence")
UUIDS = [str(uuid4()) for _ in range(3)]
ROWS = [
    ("finding", UUIDS[0], f"instance: web, vm state active\nmigration: {UUIDS[1]}, of h1 and h2"),
    ("could not check", UUIDS[2], "reason: a-very-long-name-with-dashes is not known"),
]


def table(width: int, fit: bool = False) -> str:
    out = io.StringIO()
    arguments = argparse.Namespace(max_width=width, fit_width=fit, print_empty=False)
    FittedTable().emit_list(NAMES, ROWS, out, arguments)
    return out.getvalue()


@pytest.mark.parametrize("width", [0, 20, 60, 90, 100, 120, 200, 1000])
def test_no_uuid_is_split_at_any_width(width):
    shown = table(width)
    assert all(uuid in shown for uuid in UUIDS)
    assert "a-very-long-name-with-dashes" in shown


@pytest.mark.parametrize("width", [60, 90, 100, 120, 200])
def test_no_line_is_longer_than_the_width(width):
    assert max(map(len, table(width).splitlines())) <= width


def test_without_a_width_nothing_is_wrapped():
    assert "reason: a-very-long-name-with-dashes is not known" in table(0)
    assert table(0) == table(1000)


def test_where_a_table_does_not_fit_each_row_is_a_block():
    first, second = table(50).split("\n\n")
    assert first.splitlines()[:2] == ["Verdict: finding", f"Subject: {UUIDS[0]}"]
    assert second.startswith("Verdict: could not check\n")
    assert "+-" not in table(50)


def test_a_block_leaves_out_what_is_empty():
    assert list(blocks(("A", "B"), [("", "one\ntwo"), ("x", "")], 80)) == [
        "B:",
        "  one",
        "  two",
        "",
        "A: x",
    ]


texts = st.lists(st.text("ab- \n", max_size=12), min_size=2, max_size=2)


@given(st.lists(texts, max_size=4), st.integers(1, 60))
def test_a_table_that_fits_has_room_for_each_word_and_fills_no_more_than_there_is(rows, limit):
    widths = fitted(("A", "B"), rows, limit)
    words = [
        max([1, *(len(word) for row in rows for word in row[number].split())]) for number in (0, 1)
    ]
    if widths is None:
        assert sum(words) + 7 > limit
    else:
        assert sum(widths) + 7 <= limit
        assert all(width >= word for width, word in zip(widths, words, strict=True))


def test_what_is_to_fit_in_a_pipe_fits_the_columns_of_the_environment(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert max(map(len, table(0, fit=True).splitlines())) <= 100
