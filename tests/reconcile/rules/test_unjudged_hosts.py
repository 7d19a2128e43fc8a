# SPDX-License-Identifier: Apache-2.0
"""A provider of no compute node is told apart by its traits, and only if every cell answered."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.rules.unjudged_hosts import providers_of_nobody

OF_NOVA = "provider old VCPU=8 traits=COMPUTE_NODE\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("provider fpga FPGA=1\n", "provider-of-nobody"),
        (OF_NOVA, "provider-of-gone-host"),
        ("provider metal CUSTOM_GOLD=1 traits=OWNER_NOVA\n", "metal-of-nobody"),
        (f"{OF_NOVA}holds container old VCPU=1\n", "held-of-gone-host"),
    ],
)
def test_what_a_provider_without_a_compute_node_is_follows_from_its_traits(text, name):
    cloud = f"cell1\n  host h1 VCPU=8\n{text}"
    [verdict] = providers_of_nobody(facts_of(cloud))
    assert verdict.reason.name == name
    assert list(providers_of_nobody(facts_of(f"{cloud}cell2 silent\n"))) == []


@pytest.mark.parametrize("held", ["", "holds container H1 VCPU=1\n"])
def test_a_provider_with_the_name_of_a_service_is_not_to_be_deleted(held):
    """The table of compute nodes is empty, and nova-compute runs."""
    cloud = f"cell1\n  host H1 VCPU=8 up\n{held}"
    facts = replace(facts_of(cloud), compute_nodes=())
    [verdict] = providers_of_nobody(facts)
    assert verdict.reason.name == "provider-of-known-service"
