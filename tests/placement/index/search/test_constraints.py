# SPDX-License-Identifier: Apache-2.0
import numpy as np

from tests.placement.index.clouds import group
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.constraints import Constraints, Demand, constrain
from trueup.placement.index.search.match import Offers, Slot


def constrained(
    *groups: RequestGroup,
    has_trees: bool = True,
    offers: dict[str, int] | None = None,
    **wide: object,
) -> tuple[list[str], Constraints]:
    """The slots by name (suffix or class) in their order, and their constraints.

    `offers` has the number of offers of slots that have any.
    """
    slots = []
    for wanted in groups:
        held = [wanted.resources] if wanted.suffix else [(amount,) for amount in wanted.resources]
        for resources in held:
            count = (offers or {}).get(wanted.suffix or resources[0][0], 0)
            positions = np.arange(count)
            slots.append(Slot(wanted.suffix, resources, Offers(positions, positions)))
    ordered, found = constrain(slots, CandidateRequest(groups, **wide), has_trees)
    return [slot.suffix or slot.resources[0][0] for slot in ordered], found


def test_slots_contend_for_classes_that_several_ask_for() -> None:
    names, found = constrained(group(VCPU=1, DISK_GB=5), group("1", VCPU=2, MEMORY_MB=3))
    assert names == ["VCPU", "1", "DISK_GB"]
    assert found.contended == ("VCPU",)
    assert found.demands == ((Demand(0, 1),), (Demand(0, 2),), ())
    assert [found.binds(slot) for slot in range(3)] == [True, True, False]


def test_slots_with_few_offers_come_first_and_free_slots_last() -> None:
    names, _ = constrained(
        group(DISK_GB=5),
        group("1", VCPU=2),
        group("2", VCPU=2),
        group("3", PGPU=1),
        offers={"DISK_GB": 1, "1": 9, "2": 3, "3": 1},
    )
    assert names == ["2", "1", "DISK_GB", "3"]


def test_isolated_slots_take_a_whole_provider_and_do_not_contend() -> None:
    _, found = constrained(group("1", VCPU=1), group("2", VCPU=2), isolate=True)
    assert found.contended == ()
    assert found.demands == ((Demand(0, 1),), (Demand(0, 1),))
    _, found = constrained(group(VCPU=4), group("1", VCPU=1), group("2", VCPU=2), isolate=True)
    whole = Demand(1, 1)
    assert found.demands == ((Demand(0, 4),), (Demand(0, 1), whole), (Demand(0, 2), whole))


def test_a_single_group_is_never_isolated() -> None:
    _, found = constrained(group(VCPU=1), group("1", PGPU=1), isolate=True)
    assert not any(found.binds(slot) for slot in range(2))


def test_a_subtree_of_one_group_is_no_constraint() -> None:
    asked = (group("1", VCPU=1), group("2", PGPU=1))
    assert constrained(*asked, same_subtrees=(frozenset({"1"}),))[1].subtrees == ()
    both = (frozenset({"1", "2"}),) * 2
    assert constrained(*asked, same_subtrees=both)[1].subtrees == ((0, 1),)


def test_traits_are_required_of_the_unsuffixed_slots_together() -> None:
    names, found = constrained(
        group("1", PGPU=1), group(VCPU=1, DISK_GB=1, required="FAST"), group("2", PGPU=1)
    )
    assert names == ["1", "2", "VCPU", "DISK_GB"]
    assert (found.unsuffixed_slots, found.required) == ((2, 3), (frozenset({"FAST"}),))
    assert all(found.binds(slot) for slot in range(4))


def test_old_clients_get_one_provider_of_each_tree() -> None:
    asked = (group(VCPU=1, DISK_GB=1),)
    assert constrained(*asked, nested=False)[1].distinct_tree_slots == (0, 1)
    assert constrained(*asked, nested=False, has_trees=False)[1].distinct_tree_slots == ()
    assert constrained(*asked)[1].distinct_tree_slots == ()
