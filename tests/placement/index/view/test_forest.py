# SPDX-License-Identifier: Apache-2.0
import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from trueup.placement.index.view.forest import NO_PARENT, NO_POSITION, lay_out
from trueup.placement.store.reads.ledger_rows import ProviderRow


@st.composite
def rows(draw: st.DrawFn) -> list[ProviderRow]:
    """Trees in any shape; ids come in any order."""
    ids = draw(st.permutations(range(1, draw(st.integers(1, 12)) + 1)))
    found: list[ProviderRow] = []
    for key in ids:
        parent = draw(st.sampled_from([None, *found])) if found else None
        root_id = parent.root_id if parent else key
        found.append(ProviderRow(key, f"p{key}", root_id, parent.id if parent else None))
    return sorted(found)


@given(rows())
def test_a_subtree_is_a_slice(providers: list[ProviderRow]) -> None:
    forest = lay_out(providers)
    position_of = {int(key): position for position, key in enumerate(forest.ids)}
    parents = {row.id: row.parent_id for row in providers}

    def line(key: int | None) -> list[int]:
        return [key, *line(parents[key])] if key is not None else []

    assert len(forest) == len(providers)
    for row in providers:
        position = position_of[row.id]
        below = {position_of[other.id] for other in providers if row.id in line(other.id)}
        assert set(range(position, int(forest.ends[position]))) == below
        assert int(forest.roots[position]) == position_of[row.root_id]
        assert forest.uuids[position] == row.uuid
        parent = position_of[row.parent_id] if row.parent_id else NO_PARENT
        assert int(forest.parents[position]) == parent


def test_a_parent_that_is_gone_counts_as_none() -> None:
    forest = lay_out([ProviderRow(2, "orphan", 1, 1)])
    assert forest.parents.tolist() == [NO_PARENT]
    assert forest.roots.tolist() == [0]


def test_one_provider_of_a_subtree_is_the_ancestor_of_the_others() -> None:
    rows = [ProviderRow(1, "a", 1, None), ProviderRow(2, "b", 1, 1), ProviderRow(3, "c", 1, 1)]
    forest = lay_out(rows)
    assert forest.is_one_subtree([0, 1, 2])
    assert forest.is_one_subtree([1])
    assert not forest.is_one_subtree([1, 2])


def test_providers_that_are_their_own_ancestors_are_left_out() -> None:
    circle = [ProviderRow(2, "b", 1, 3), ProviderRow(3, "c", 1, 2)]
    forest = lay_out([ProviderRow(1, "a", 1, None), *circle])
    assert (forest.uuids, list(forest.left_out)) == (("a",), circle)


@given(rows())
def test_providers_are_found_by_their_ids(providers: list[ProviderRow]) -> None:
    forest = lay_out(providers)
    ids = np.array([row.id for row in providers] + [99])
    found = forest.positions_of(ids).tolist()
    assert [forest.uuids[position] for position in found[:-1]] == [row.uuid for row in providers]
    assert found[-1] == NO_POSITION
    assert lay_out([]).positions_of(ids).tolist() == [NO_POSITION] * len(ids)
    assert sorted(forest.rows()) == providers
