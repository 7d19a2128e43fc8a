# SPDX-License-Identifier: Apache-2.0
"""What moves from one provider to another keeps its amounts."""

from hypothesis import given
from hypothesis import strategies as st

from trueup.reconcile.runbooks.moving import moved_amounts

AMOUNTS = st.dictionaries(
    st.sampled_from("abcd"),
    st.dictionaries(st.sampled_from(["VCPU", "VGPU"]), st.integers(1, 9), min_size=1),
)


@given(AMOUNTS)
def test_to_a_new_provider_every_amount_moves(amounts):
    after = moved_amounts(amounts, {"a": "new"})
    assert "a" not in after
    assert after.get("new") == amounts.get("a")
    assert {uuid: row for uuid, row in after.items() if uuid != "new"} == {
        uuid: row for uuid, row in amounts.items() if uuid != "a"
    }


@given(AMOUNTS)
def test_what_is_held_of_both_is_not_held_twice(amounts):
    after = moved_amounts(amounts, {"a": "b"})
    expected = {**amounts.get("a", {}), **amounts.get("b", {})}
    assert after.get("b", {}) == expected
