# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database that are wrong by themselves."""

from types import SimpleNamespace

import pytest

from trueup.reconcile.sources.placement.faults import broken_trees, consumerless, dangling, repeated


def row(number: int, parent: int | None, root: int | None) -> SimpleNamespace:
    return SimpleNamespace(
        id=number, uuid=f"u{number}", name=f"p{number}", parent_provider_id=parent,
        root_provider_id=root,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(1, None, 1), row(2, 1, 1), row(3, 2, 1)], {}),
        ([row(1, None, None)], {"u1": "p1: its root is not known"}),
        ([row(1, None, 1), row(2, 1, 2)], {"u2": "p2: its root is not the top of its tree"}),
        ([row(2, 1, 2)], {"u2": "p2: a parent in its tree does not exist"}),
        (
            [row(1, 2, 1), row(2, 1, 1)],
            {"u1": "p1: its parents form a circle", "u2": "p2: its parents form a circle"},
        ),
    ],
)
def test_what_is_wrong_with_a_tree(rows, words):
    assert {one.subject: one.what for one in broken_trees(rows)} == words


def test_of_several_rows_of_one_consumer_and_class_the_newest_is_listed():
    rows = [
        SimpleNamespace(
            id=number, consumer_id="c", resource_provider_id=1, resource_class_id=kind, used=used
        )
        for number, kind, used in ((3, 0, 5), (1, 0, 2), (2, 0, 4), (4, 1, 7), (5, 1, 7))
    ]
    found = repeated(rows, {1: "u1"}, {0: "VCPU", 1: "DISK_GB"})
    assert [(one.kind, one.resource_class, one.amount) for one in found] == [
        ("consumerless", "DISK_GB", 7),
        ("consumerless", "VCPU", 6),
    ]
    assert {one.consumers for one in repeated(rows, {1: "u1"}, {})} == {("c",)}
    assert list(repeated(rows, {2: "u2"}, {0: "VCPU", 1: "DISK_GB"})) == []


def test_allocations_without_a_consumer_are_summed():
    rows = [
        SimpleNamespace(consumer_id=who, resource_provider_id=at, resource_class_id=0, used=used)
        for who, at, used in (("b", 1, 2), ("a", 1, 2), ("a", 1, 1), ("c", 9, 4))
    ]
    [fault] = consumerless(rows, {1: "u1"}, {0: "VCPU"})
    assert (fault.subject, fault.resource_class, fault.amount) == ("u1", "VCPU", 5)
    assert fault.consumers == ("a", "b")


def test_rows_of_a_provider_that_does_not_exist_are_counted():
    rows = [SimpleNamespace(number=number) for number in (7, 7, 8, "text")]
    reported = {one.subject: one.amount for one in dangling("inventories", "provider", rows)}
    assert reported == {"inventories 7": 2, "inventories 8": 1, "inventories text": 1}


def test_rows_of_a_resource_class_that_does_not_exist_are_counted():
    rows = [SimpleNamespace(number=7, consumer_id=who) for who in ("b", "a", "a")]
    [fault] = dangling("allocations", "resource class", rows)
    assert (fault.subject, fault.amount) == ("allocations resource class 7", 3)
    assert fault.consumers == ("a", "b")
    assert fault.what.startswith("rows of allocations refer to resource class number 7,")
