# SPDX-License-Identifier: Apache-2.0
"""Values as they stand in real databases: each is read, or noted with its table and id."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.sources.rows import row
from trueup.reconcile.sources.notes import Notes
from trueup.reconcile.sources.reading import Reader

CANONICAL = "5eb033fd-aaaa-4222-8333-4444555566ff"
ANYTHING = st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.binary(), st.datetimes())


def asked(method: str, value: object) -> tuple[object, int]:
    """What is read of a value, and how many notes were made."""
    notes = Notes()
    read = getattr(Reader("a table", notes), method)(row(id=7, column=value), "column")
    return read, notes.count


@pytest.mark.parametrize(
    ("value", "read", "noted"),
    [
        (CANONICAL, CANONICAL, 0),
        (None, "", 0),
        ("", "", 0),
    ],
)
def test_a_uuid_is_read(value, read, noted):
    assert asked("uuid", value) == (read, noted)


@pytest.mark.parametrize(
    "value",
    [CANONICAL.upper(), CANONICAL.replace("-", ""), f" {CANONICAL}", "nonsense", CANONICAL[:-1]],
)
def test_what_no_release_writes_for_a_uuid_loses_its_row(value):
    with pytest.raises(ValueError, match="no release of Nova writes"):
        asked("uuid", value)


NOON = datetime(2026, 11, 21, 12, 0, 0)


@pytest.mark.parametrize(
    ("value", "read", "noted"),
    [
        (None, None, 0),
        (NOON, NOON, 0),
        ("2026-11-21 12:00:00", NOON, 0),
        ("2026-11-21 12:00:00.000000", NOON, 0),
        ("2026-11-21T14:00:00+02:00", NOON, 0),
        (datetime(1970, 1, 1), None, 1),
        ("1970-01-01 00:00:00", None, 1),
        ("0000-00-00 00:00:00", None, 1),
        ("yesterday", None, 1),
        ("", None, 1),
        (7, None, 1),
    ],
)
def test_a_time_is_naive_utc_and_what_is_none_is_noted(value, read, noted):
    assert asked("moment", value) == (read, noted)


@pytest.mark.parametrize(
    ("value", "read", "noted"),
    [
        (None, None, 0),
        ("", None, 0),
        ("{}", {}, 0),
        ("[1]", [1], 0),
        ("{", None, 1),
        (b"\xff", None, 1),
    ],
)
def test_a_document_is_json_or_noted(value, read, noted):
    assert asked("document", value) == (read, noted)


@pytest.mark.parametrize(
    ("value", "read", "noted"),
    [(None, None, 0), (0, 0, 0), (7, 7, 0), ("7", None, 1), ("seven", None, 1), (1.5, None, 1)],
)
def test_a_whole_number_is_read_and_another_value_is_noted(value, read, noted):
    assert asked("number", value) == (read, noted)


@pytest.mark.parametrize(("value", "read"), [(None, False), (0, False), (False, False), (7, True)])
def test_a_flag_is_set_by_any_number_but_0(value, read):
    assert asked("flag", value) == (read, 0)


@pytest.mark.parametrize("value", ["0", "", "seven", 0.0, b"\xff"])
def test_a_row_whose_flag_is_no_number_is_lost(value):
    notes = Notes()
    reader = Reader("a table", notes)
    rows = [row(id=7, deleted=value), row(id=8, deleted=0)]
    assert list(reader.every(lambda one: reader.flag(one, "deleted"), rows)) == [False]
    assert [(one.row, one.lost) for one in notes.unread] == [("7", True)]


@given(ANYTHING, st.sampled_from(["moment", "number", "document"]))
def test_no_value_stops_the_reading(value, method):
    asked(method, value)


def test_a_row_that_cannot_be_understood_is_lost_and_the_others_are_read():
    notes = Notes()
    rows = [row(id=1, size="2"), row(id=2, size="two"), row(id=3), row(id=4, size="4")]
    assert list(Reader("disks", notes).every(lambda one: int(one.size), rows)) == [2, 4]
    assert [(one.table, one.row, one.column) for one in notes.unread] == [
        ("disks", "2", ""), ("disks", "3", "")
    ]  # fmt: skip
    assert all(one.lost for one in notes.unread)
    assert (notes.count, notes.lost) == (2, 2)


def test_a_document_that_is_nested_too_deeply_is_noted():
    # Python 3.11 reads a thousand levels, 3.13 ten thousand.
    assert asked("document", "[" * 100_000 + "]" * 100_000) == (None, 1)
