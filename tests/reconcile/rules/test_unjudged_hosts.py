# SPDX-License-Identifier: Apache-2.0
"""A provider of no compute node is told apart by its traits, and only if every cell answered."""

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.rules.unjudged_hosts import providers_of_nobody

OF_NOVA = "provider old VCPU=8 traits=COMPUTE_NODE\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("provider fpga FPGA=1\n", "provider-of-nobody"),
        (OF_NOVA, "provider-of-gone-host"),
        (f"{OF_NOVA}holds container old VCPU=1\n", "held-of-gone-host"),
    ],
)
def test_what_a_provider_without_a_compute_node_is_follows_from_its_traits(text, name):
    cloud = f"cell1\n  host h1 VCPU=8\n{text}"
    [verdict] = providers_of_nobody(facts_of(cloud))
    assert verdict.reason.name == name
    assert list(providers_of_nobody(facts_of(f"{cloud}cell2 silent\n"))) == []
