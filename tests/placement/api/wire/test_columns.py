# SPDX-License-Identifier: Apache-2.0
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trueup.placement.api.wire.columns import encoded, encoded_bare, joined, of_each

values = (
    st.none() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"]))
)


@given(st.lists(values))
def test_each_value_of_a_column_is_its_json(column: list[Any]) -> None:
    assert [json.loads(text) for text in encoded(column)] == column


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_bare_text_is_its_json_without_quotation_marks(column: list[str]) -> None:
    assert [json.loads(b'"%s"' % text) for text in encoded_bare(column)] == column


@given(st.lists(st.tuples(values, values)))
def test_objects_of_columns_are_json(rows: list[tuple[Any, Any]]) -> None:
    firsts, seconds = encoded([first for first, _ in rows]), encoded([second for _, second in rows])
    pieces = [b'{"a":', firsts, b',"b":[', seconds, b"]}"]
    made = joined(pieces, len(rows), b'{"all":[', b"]}")
    objects = [{"a": first, "b": [second]} for first, second in rows]
    assert json.loads(made) == {"all": objects}
    assert [json.loads(text) for text in of_each(pieces, len(rows))] == objects


def test_objects_may_be_all_alike() -> None:
    assert joined([b"{}"], 2) == b"{},{}"
    assert joined([b"{}"], 0, b"[", b"]") == b"[]"
