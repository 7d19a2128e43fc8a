# SPDX-License-Identifier: Apache-2.0
"""Only a host of which no flavor can get what it needs has nothing to give."""

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.defects import inventory_fully_reserved
from trueup.reconcile.verdicts import AuditOptions


@pytest.mark.parametrize(
    ("inventories", "found"),
    [
        ("MEMORY_MB=512 reserved=511", False),
        ("MEMORY_MB=512 reserved=512", True),
        ("VCPU=1 reserved=1", True),
        ("PCPU=1 reserved=1", True),
        ("VCPU=1 PCPU=2 reserved=1", False),
        ("VCPU=1 MEMORY_MB=2 reserved=1", True),
        ("DISK_GB=1 CUSTOM_GPU=1 reserved=1", False),
        ("", False),
    ],
)
def test_all_memory_or_all_processors_of_both_kinds_are_reserved(inventories, found):
    facts = facts_of(f"cell1\n  host h1 up {inventories}\n")
    assert bool(list(inventory_fully_reserved.find(facts, AuditOptions()))) is found
