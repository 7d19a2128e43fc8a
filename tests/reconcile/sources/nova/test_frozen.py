# SPDX-License-Identifier: Apache-2.0
"""A frozen Nova says of everything what the facts say."""

from dataclasses import replace

import pytest

from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.sources.nova.frozen import FrozenNova


def quiet(*_: object) -> None:
    pass


@pytest.mark.parametrize("whole", [True, False])
def test_facts_collected_of_it_are_those_it_was_made_from(small, whole):
    facts = collect(small.cloud, quiet)
    chosen = EVERYTHING if whole else Selection(hosts=frozenset({facts.compute_nodes[0].host}))
    frozen = replace(small.cloud, nova=FrozenNova(facts))
    expected, found = collect(small.cloud, quiet, chosen), collect(frozen, quiet, chosen)
    assert {row.uuid for row in found.instances} == {row.uuid for row in expected.instances}
    assert {row.uuid for row in found.migrations} == {row.uuid for row in expected.migrations}
    assert found.compute_nodes == expected.compute_nodes
    assert found.consumers == expected.consumers


def test_states_are_those_that_a_plan_was_made_with(small):
    facts = collect(small.cloud, quiet)
    frozen = FrozenNova(facts)
    for step in small.plan().steps:
        [guard] = [one for one in step.guards if hasattr(one, "vm_state")]
        assert frozen.instance_states(guard.cell, [guard.uuid]) == {guard.uuid: guard}
    assert frozen.instance_states(next(iter(facts.cells)), ["nobody"]) == {}
