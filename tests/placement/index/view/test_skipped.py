# SPDX-License-Identifier: Apache-2.0
import pytest

from trueup.placement.index.view.build import build
from trueup.placement.store.reads.ledger_rows import InventoryRow, LedgerRows, Names, ProviderRow

NAMES = Names({"VCPU": 0}, {"FAST": 1})
HOST = ProviderRow(1, "host", 1, None)


def stock(provider: int, class_id: int) -> InventoryRow:
    return InventoryRow(provider, class_id, 8, 0, 1.0, 1, 8, 1)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            {"inventories": [stock(1, 9)]},
            "an inventory of provider row 1: there is no resource class 9",
        ),
        (
            {"inventories": [stock(2, 0)]},
            "an inventory of provider row 2: there is no such provider, or it has no root",
        ),
        ({"trait_sets": {1: (1, 7)}}, "a trait of provider row 1: there is no trait 7"),
        (
            {"trait_sets": {5: (1,)}},
            "traits of provider row 5: there is no such provider, or it has no root",
        ),
        ({"aggregate_pairs": [(1, 3)]}, "an aggregate of provider row 1: there is no aggregate 3"),
        (
            {"providers": [HOST, ProviderRow(2, "a", 1, 3), ProviderRow(3, "b", 1, 2)]},
            "all of provider row 2: provider a is its own ancestor",
        ),
        (
            {"providers": [HOST, ProviderRow(2, "orphan", 9, 9)]},
            "the tree of provider row 2: the root or the parent of provider orphan does not exist",
        ),
    ],
)
def test_a_broken_row_is_left_out_and_named(rows: dict, expected: str) -> None:
    view = build(LedgerRows(NAMES, **{"providers": [HOST], **rows}))
    assert expected in [row.text for row in view.skipped]
    assert "host" in view.forest.uuids
    assert list(view.inventories) == []


def test_a_repaired_row_is_not_named_any_more() -> None:
    broken = build(LedgerRows(NAMES, providers=[HOST], inventories=[stock(1, 9), stock(2, 0)]))
    assert len(broken.skipped) == 2
    mended = build(LedgerRows(NAMES, providers=[HOST], inventories=[stock(1, 0)]), broken, [1])
    assert [row.provider_id for row in mended.skipped] == [2]
    assert list(mended.inventories) == ["VCPU"]
