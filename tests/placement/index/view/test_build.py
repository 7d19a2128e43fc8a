# SPDX-License-Identifier: Apache-2.0
import numpy as np

from tests.placement.index.clouds import SHARES, Host, view_of
from trueup.placement.index.view.build import EMPTY_VIEW, build, with_names, with_usage
from trueup.placement.index.view.columns import View
from trueup.placement.index.view.differences import differences
from trueup.placement.store.reads.ledger_rows import (
    InventoryRow,
    LedgerRows,
    Names,
    ProviderRow,
    Usage,
)

NAMES = Names({"VCPU": 0, "DISK_GB": 2}, {SHARES: 1, "FAST": 2})
CLOUD = view_of(
    [
        Host("host", {"VCPU": 8}, traits=("FAST",), aggregates=("rack",)),
        Host("numa", {"VCPU": 4}, parent="host"),
        Host("pool", {"DISK_GB": 9}, traits=(SHARES,), aggregates=("rack",)),
    ]
)
KNOWN = Names(CLOUD.class_ids, CLOUD.trait_ids)


def stock(provider: int, class_id: int, total: int) -> InventoryRow:
    return InventoryRow(provider, class_id, total, 0, 1.0, 1, 1000, 1)


def test_no_rows_make_the_empty_view() -> None:
    assert differences(build(LedgerRows(Names())), EMPTY_VIEW) == []


def test_only_columns_of_these_providers_are_built_again() -> None:
    rows = LedgerRows(
        KNOWN, providers=[ProviderRow(2, "numa", 1, 1)], inventories=[stock(2, 0, 6)],
        trait_sets={2: (2, 4)},
    )  # fmt: skip
    view = build(rows, CLOUD, [2])
    assert view.forest is CLOUD.forest
    assert view.inventories["DISK_GB"] is CLOUD.inventories["DISK_GB"]
    assert (view.providers_by_aggregate, view.shared_with) == (
        CLOUD.providers_by_aggregate,
        CLOUD.shared_with,
    )
    assert view.inventories["VCPU"].capacity.tolist() == [8.0, 6.0]
    assert view.providers_by_trait["RED"].tolist() == [1]
    assert view.traits_of[1] == ("FAST", "RED")


def test_positions_move_when_the_forest_does() -> None:
    """A child of the host gets a position before the pool."""
    rows = LedgerRows(KNOWN, providers=[ProviderRow(9, "card", 1, 2)], inventories=[stock(9, 3, 5)])
    view = build(rows, CLOUD, [9])
    assert view.forest.uuids == ("host", "numa", "card", "pool")
    assert view.inventories["DISK_GB"].positions.tolist() == [3]
    assert view.sharing.tolist() == [3]
    assert view.providers_by_aggregate["rack"].tolist() == [0, 3]
    assert view.shared_with[3].tolist() == [0, 3]
    gone = build(LedgerRows(KNOWN), view, [9])
    assert differences(gone, CLOUD) == []


def test_usage_is_of_all_or_of_some() -> None:
    used = [(1, 0, 3), (2, 0, 2), (2, 77, 1), (99, 0, 1)]
    everything = with_usage(CLOUD, Usage([(1, 5), (99, 1)], used), None)
    assert everything.inventories["VCPU"].used.tolist() == [3, 2]
    assert everything.inventories["DISK_GB"] is CLOUD.inventories["DISK_GB"]
    assert everything.generations[0] == 5
    some = with_usage(everything, Usage([(1, 6)], []), [1])
    assert some.inventories["VCPU"].used.tolist() == [0, 2]
    assert CLOUD.inventories["VCPU"].used.tolist() == [0, 0]


def test_a_class_may_get_another_name() -> None:
    names = Names({"VCPU": 0, "CUSTOM_DISK": 2}, CLOUD.trait_ids)
    view = with_names(CLOUD, names)
    assert view.inventories["CUSTOM_DISK"] is CLOUD.inventories["DISK_GB"]
    assert "DISK_GB" not in view.class_ids


def test_hosts_with_equal_traits_share_one_object() -> None:
    rows = [ProviderRow(number, f"host{number}", number, None) for number in range(1, 4)]
    kind = (1, 2)
    view = build(LedgerRows(NAMES, providers=rows, trait_sets={1: kind, 2: kind, 3: (2,)}))
    assert view.traits_of[0] is view.traits_of[1]
    assert np.array_equal(view.providers_by_trait["FAST"], [0, 1, 2])


def test_a_provider_gets_a_new_revision_with_each_change_of_its_summary() -> None:
    def kept(view: View) -> list[bool]:
        return (view.revisions == CLOUD.revisions).tolist()

    usage = Usage([(1, 5)], [(2, 0, 1)])
    assert kept(with_usage(CLOUD, usage, [1, 2])) == [True, False, True]
    same_tree = LedgerRows(KNOWN, providers=[ProviderRow(2, "numa", 1, 1)], trait_sets={2: (2,)})
    assert kept(build(same_tree, CLOUD, [2])) == [True, False, True]
    other_tree = LedgerRows(KNOWN, providers=[ProviderRow(2, "numa", 2, None)])
    assert kept(build(other_tree, CLOUD, [2])) == [False, False, False]
    assert kept(with_names(CLOUD, KNOWN)) == [False, False, False]
    assert len(set(CLOUD.revisions.tolist())) == 3
