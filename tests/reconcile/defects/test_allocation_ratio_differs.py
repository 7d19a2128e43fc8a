# SPDX-License-Identifier: Apache-2.0
"""A ratio is compared as Placement's databases store it, and only with a number."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from trueup.reconcile.defects import allocation_ratio_differs
from trueup.reconcile.verdicts import AuditOptions, Finding, Unchecked

CLOUD = """
cell1
  host h1 up VCPU=8 ratio={} aggregates=fast
aggregate fast h1 cpu_allocation_ratio={}
"""


@pytest.mark.parametrize(
    ("in_placement", "of_aggregate", "verdict"),
    [
        ("1.1", "1.1", None),
        ("1.10000002384185791015625", "1.1", None),
        ("1.1", "1.2", Finding),
        ("1.1", " 1.1 ", None),
        ("0", "0", Finding),
        ("1.1", "nan", Unchecked),
        ("1.1", "inf", Unchecked),
        ("1.1", "", Unchecked),
    ],
)
def test_ratios_are_compared_as_numbers(in_placement, of_aggregate, verdict):
    facts = facts_of(CLOUD.format(in_placement, "1"))
    [aggregate] = facts.host_aggregates
    aggregate = replace(aggregate, metadata={"cpu_allocation_ratio": of_aggregate})
    facts = replace(facts, host_aggregates=(aggregate,))
    found = list(allocation_ratio_differs.find(facts, AuditOptions()))
    assert [type(one) for one in found] == ([verdict] if verdict else [])
