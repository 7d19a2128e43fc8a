# SPDX-License-Identifier: Apache-2.0
"""A tree is read up to its top, also where a parent names another root."""

import pytest

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.reconcile.collect.trees import whole_trees
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.loaded import LoadedLedger

FACTS = read_cloud(
    "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\n  host h3 VCPU=8\n"
    "provider agent of h1 VCPU=1\nprovider nic of agent root=h2 VCPU=1\n"
)


def whole(*names: str) -> set[str]:
    ledger = LoadedLedger(Ledger(FACTS.providers, {}, "export"))
    found = whole_trees(ledger, ledger.trees(map(uuid_of, names), ()))
    return {row.name for row in found.values()}


@pytest.mark.parametrize("name", ["h1", "agent", "nic", "h2"])
def test_trees_that_a_parent_connects_are_read_together(name):
    """Only together do they show that they are broken."""
    assert whole(name) == {"h2", "nic", "agent", "h1"}


def test_other_trees_are_not_read():
    assert whole("h3") == {"h3"}
    assert whole() == set()
