# SPDX-License-Identifier: Apache-2.0
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.placement.index.clouds import Host, view_of
from trueup.placement.index.search.alike import columns_of

VIEW = view_of(Host(f"host{n}") for n in range(12))


@given(st.data())
def test_all_candidates_are_there_and_alike_ones_together(drawn: st.DataObject) -> None:
    slots = drawn.draw(st.integers(1, 14))
    places = st.tuples(*[st.integers(0, drawn.draw(st.integers(0, 11)))] * slots)
    rows = drawn.draw(st.lists(places, min_size=1, max_size=30))
    first = drawn.draw(st.integers(0, len(rows) - 1))
    last = drawn.draw(st.integers(first + 1, len(rows)))
    found = tuple(np.array(column) for column in zip(*rows, strict=True))
    columns = columns_of(found, VIEW, first, last)
    shown = list(zip(*columns.uuids, strict=True))
    patterns = [pattern for pattern, count in columns.patterns for _ in range(count)]
    assert patterns == [tuple(map(row.index, row)) for row in shown]
    assert len(columns.patterns) == len(set(patterns))
    expected = [tuple(f"host{place}" for place in row) for row in rows[first:last]]
    assert [row for _, row in sorted(zip(columns.indexes, shown, strict=True))] == expected


def test_many_slots_have_many_patterns() -> None:
    """Of 200 slots, more patterns than an integer could number at once."""
    source = np.random.default_rng(1)
    found = tuple(source.integers(0, 12, 50) for _ in range(200))
    patterns = {pattern for pattern, _ in columns_of(found, VIEW, 0, 50).patterns}
    rows = [tuple(row) for row in zip(*(column.tolist() for column in found), strict=True)]
    assert patterns == {tuple(map(row.index, row)) for row in rows}
