# SPDX-License-Identifier: Apache-2.0
"""States of every kind are put into words."""

import pytest

from tests.reconcile.steps.test_steps import CHANGES
from trueup.reconcile.facts import Allocations
from trueup.reconcile.report.states import before_and_after, state_in_words
from trueup.reconcile.steps import AllocationsOf, Change, Held, step_of

INVENTORY = "total=8 reserved=0 min_unit=1 max_unit=8 step_size=1 allocation_ratio=4.0"
WORDS = {
    "allocations": {"c on alpha": "VCPU=1"},
    "provider": {"name": "name", "parent": "None"},
    "inventories": {"VCPU": INVENTORY},
    "traits": {"traits": "CUSTOM_A CUSTOM_B"},
    "aggregates": {"aggregates": "x"},
    "tree": {"p VCPU": INVENTORY, "c on alpha": "VCPU=1"},
    "port-binding": {"allocation": "{'group': 'p'}", "n": "1"},
    "compute-service": {"disabled": "True", "disabled reason": "why", "forced down": "False"},
    "whole-provider": {
        "provider": "name",
        "parent": "alpha",
        "traits": "CUSTOM_A",
        "aggregates": "x",
        "VCPU": "total=8 ratio=1.5",
    },
    "domain": {"domain": "", "definition": "060eb14b1cfb"},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_state_has_its_words(kind):
    _, state = CHANGES[kind]
    assert state_in_words(state, {"a": "alpha"}) == WORDS[kind]


def test_what_does_not_exist_has_none():
    assert state_in_words(None, {}) == {}
    assert state_in_words(Held({"c": None}), {}) == {}


def test_an_owner_is_shown_where_it_changes():
    def states(*pairs: tuple[str, str]) -> list[Held]:
        return [Held({"c": Allocations({"a": {"VCPU": 1}}, *pair)}) for pair in pairs]

    old, new = states(("nobody", "u"), ("red", "u"))
    step = step_of((Change(AllocationsOf(("c",)), old, new, {"c": 1}),), (), ())
    assert before_and_after(step, {"a": "alpha"}) == (
        {"alpha": "VCPU=1", "project": "nobody"},
        {"alpha": "VCPU=1", "project": "red"},
    )
    two = Held({**new.by_consumer, "d": Allocations({"a": {"VCPU": 2}}, "red", "admin")})
    before = Held({**new.by_consumer, "d": Allocations({"a": {"VCPU": 2}}, "red", "u")})
    step = step_of((Change(AllocationsOf(("c", "d")), before, two, {"c": 1, "d": 1}),), (), ())
    shown, _ = before_and_after(step, {"a": "alpha"})
    assert shown == {"c on alpha": "VCPU=1", "d on alpha": "VCPU=2", "d user": "u"}


def test_a_step_shows_all_that_it_changes():
    changes = tuple(Change(*CHANGES[kind], None, {}) for kind in ("traits", "aggregates"))
    before, after = before_and_after(step_of(changes, (), ()), {})
    assert before == {"traits": "CUSTOM_A CUSTOM_B", "aggregates": "x"}
    assert after == {}
