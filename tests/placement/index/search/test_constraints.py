# SPDX-License-Identifier: Apache-2.0
import numpy as np

from tests.placement.index.clouds import group
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.constraints import Demand, Rules, rules_of
from trueup.placement.index.search.match import Offers, Slot

NOBODY = np.empty(0, dtype=np.int64)


def rules(*groups: RequestGroup, has_trees: bool = True, **wide: object) -> Rules:
    """The groups without suffix count one slot for each class."""
    slots = []
    for one in groups:
        held = [one.resources] if one.suffix else [(amount,) for amount in one.resources]
        slots += [Slot(one.suffix, amounts, Offers(NOBODY, NOBODY)) for amounts in held]
    return rules_of(CandidateRequest(groups, **wide), slots, has_trees)


def test_slots_contend_for_what_several_ask_for() -> None:
    found = rules(group(VCPU=1, DISK_GB=5), group("1", VCPU=2, MEMORY_MB=3))
    assert found.contended == ("VCPU",)
    assert found.demands == ((Demand(0, 1),), (), (Demand(0, 2),))
    assert [found.binds(place) for place in range(3)] == [True, False, True]


def test_isolated_slots_want_a_provider_each_and_nothing_of_each_other() -> None:
    found = rules(group("1", VCPU=1), group("2", VCPU=2), isolate=True)
    assert found.contended == ()
    assert found.demands == ((Demand(0, 1),), (Demand(0, 1),))
    found = rules(group(VCPU=4), group("1", VCPU=1), group("2", VCPU=2), isolate=True)
    whole = Demand(1, 1)
    assert found.demands == ((Demand(0, 4),), (Demand(0, 1), whole), (Demand(0, 2), whole))


def test_a_single_group_is_never_isolated() -> None:
    found = rules(group(VCPU=1), group("1", PGPU=1), isolate=True)
    assert not any(found.binds(place) for place in range(2))


def test_a_subtree_of_one_group_is_no_rule() -> None:
    asked = (group("1", VCPU=1), group("2", PGPU=1))
    assert rules(*asked, same_subtrees=(frozenset({"1"}),)).subtrees == ()
    assert rules(*asked, same_subtrees=(frozenset({"1", "2"}),) * 2).subtrees == ((0, 1),)


def test_traits_are_required_of_the_slots_without_suffix_together() -> None:
    found = rules(group("1", PGPU=1), group(VCPU=1, DISK_GB=1, required="FAST"))
    assert (found.together, found.required) == ((1, 2), (frozenset({"FAST"}),))
    assert [found.binds(place) for place in range(3)] == [False, True, True]


def test_old_clients_get_one_provider_of_each_tree() -> None:
    asked = (group(VCPU=1, DISK_GB=1),)
    assert rules(*asked, nested=False).apart == (0, 1)
    assert rules(*asked, nested=False, has_trees=False).apart == ()
    assert rules(*asked).apart == ()
