# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import found, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import child_without_owner
from trueup.reconcile.facts import SourceStatus, Unsupported

CLOUD = "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nprovider {} of h1 CUSTOM_GPU=1\n"


@pytest.mark.parametrize(
    ("name", "is_of_a_device"),
    [
        ("h1_0000:81:00.0", True),
        ("h1_0000:81:AF.7", True),
        ("h1_0000:81:00.8", False),
        ("h1_0000:81:00", False),
        ("h1-0000:81:00.0", False),
        ("h2_0000:81:00.0", False),
        ("h1_0000:81:00.0_more", False),
        ("h1:NIC", False),
    ],
)
def test_only_a_name_that_nova_gives_to_a_device_of_this_host_is_judged(name, is_of_a_device):
    assert bool(verdicts(child_without_owner, CLOUD.format(name))) is is_of_a_device


def test_the_address_is_compared_without_case():
    cloud = CLOUD.format("h1_0000:AF:00.0") + "device h1 0000:af:00.0\n"
    assert verdicts(child_without_owner, cloud) == []


def test_a_physical_function_whose_virtual_functions_are_there_is_not_gone():
    facts = facts_of(CLOUD.format("h1_0000:81:00.0") + "device h1 0000:81:00.4\n")
    [function] = facts.pci_devices
    of_parent = replace(function, parent_address="0000:81:00.0")
    assert verdicts(child_without_owner, facts) != []
    assert verdicts(child_without_owner, replace(facts, pci_devices=(of_parent,))) == []


def test_nothing_is_concluded_where_devices_were_not_read():
    facts = facts_of(CLOUD.format("h1_0000:81:00.0"))
    assert found(child_without_owner, facts).evidence["address"] == "0000:81:00.0"
    of_api = SourceStatus("cell1", True, unsupported=(Unsupported("PCI devices", "no API"),))
    without = replace(facts.coverage, sources=(of_api,))
    assert verdicts(child_without_owner, replace(facts, coverage=without)) == []
    scope = frozenset({uuid_of("h1")})
    assert verdicts(child_without_owner, replace(facts, providers_in_scope=scope)) == []
