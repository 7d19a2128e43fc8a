# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import declined, found, guards, steps, verdicts
from tests.reconcile.planning import facts_of
from trueup.reconcile.collect.selection import Selection, chosen
from trueup.reconcile.defects import owner_trait_missing
from trueup.reconcile.steps import NodeIs, ServiceDown, Traits
from trueup.reconcile.verdicts import Severity

CLOUD = """
cell1
  host h1 stopped VCPU=8 traits={} version={} {}
cell2 {}
  host h2 stopped VCPU=8 traits=OWNER_NOVA version={}
"""


def cloud(traits="COMPUTE_NODE", version=74, more="", cell="", other=74) -> str:
    return CLOUD.format(traits, version, more, cell, other)


@pytest.mark.parametrize(("version", "sets_it"), [(72, False), (73, True), (74, True)])
def test_only_a_nova_compute_that_sets_the_trait_lacks_it(version, sets_it):
    assert bool(verdicts(owner_trait_missing, cloud(version=version))) is sets_it


@pytest.mark.parametrize(
    ("other", "cell", "required", "severity"),
    [
        (73, "", "yes", Severity.HIGH),
        (72, "", "not yet", Severity.LOW),
    ],
)
def test_the_scheduler_asks_for_it_once_every_service_of_every_cell_sets_it(
    other, cell, required, severity
):
    one = found(owner_trait_missing, CLOUD.format("", 74, "", cell, other))
    assert one.evidence["required_by_the_scheduler"] == required
    assert one.severity is severity


@pytest.mark.parametrize("other", [72, 74])
def test_of_a_selection_every_service_counts_all_the_same(other):
    facts = facts_of(cloud(other=other))
    for selection in (Selection(providers=frozenset({"h1"})), Selection(hosts=frozenset({"h1"}))):
        part = chosen(facts, selection)
        assert found(owner_trait_missing, part) == found(owner_trait_missing, facts)


def test_the_trait_is_added_to_the_others_while_nova_compute_is_down():
    made = steps(owner_trait_missing, cloud(traits="COMPUTE_NODE,CUSTOM_A"))
    [change] = made[0].changes
    assert change.after == Traits(("COMPUTE_NODE", "CUSTOM_A", "OWNER_NOVA"))
    assert [one.host for one in guards(made, ServiceDown)] == ["h1"]
    assert [one.host for one in guards(made, NodeIs)] == ["h1"]
    assert "is up" in declined(owner_trait_missing, cloud(more="up"))


def test_traits_that_were_not_read_are_not_missing():
    facts = facts_of(cloud())
    unread = {uuid: replace(row, traits=None) for uuid, row in facts.providers.items()}
    assert verdicts(owner_trait_missing, replace(facts, providers=unread)) == []
