# SPDX-License-Identifier: Apache-2.0
"""Steps in a few words."""

from tests.reconcile.planning import planned
from tests.reconcile.runbooks.preparing import retirement_of
from trueup.reconcile.report.deeds import deed

HOST = "cell1\n  host h1 VCPU=8\nprovider gpu of h1 VGPU=8 traits=OWNER_NOVA\n"


def test_deletions_are_named():
    plan = retirement_of("h1", HOST).plan
    assert [deed(step, plan.names) for step in plan.steps] == [
        "delete the provider gpu",
        "delete the compute service of h1; delete the provider h1",
    ]


def test_a_provider_is_made():
    plan = retirement_of("h1", "cell1\n  host h1 without-provider\n").plan
    assert deed(plan.steps[0], {}) == "make the provider h1"


def test_what_consumers_get_and_lose():
    plan = planned()
    words = {deed(step, plan.names) for step in plan.steps}
    assert "release VCPU=2 MEMORY_MB=256 DISK_GB=6 of h1" in words
    assert any("give VCPU=1 MEMORY_MB=128 of h1" in one for one in words)
