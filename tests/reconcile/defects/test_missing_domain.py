# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import verdicts
from trueup.reconcile.defects import domain_elsewhere, missing_domain

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 {} VCPU=1 MEMORY_MB=64
holds web h1 VCPU=1 MEMORY_MB=64
{}
"""


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        ("active", True), ("paused", True), ("suspended", True), ("stopped", True),
        ("rescued", True), ("shelved", True), ("error", False), ("building", False),
        ("resized", False), ("soft-delete", False),
    ],
)  # fmt: skip
def test_only_states_with_a_defined_domain_can_miss_it(state, missing):
    cloud = CLOUD.format(f"state={state}", "hypervisor h1")
    assert bool(verdicts(missing_domain, cloud)) is missing


def test_a_hypervisor_that_is_silent_or_was_not_asked_proves_nothing():
    assert verdicts(missing_domain, CLOUD.format("", "hypervisor h1 silent")) == []
    assert verdicts(missing_domain, CLOUD.format("", "")) == []


def test_a_guest_that_runs_elsewhere_is_the_worse_finding_and_the_only_one():
    cloud = CLOUD.format("", "hypervisor h1\nguest web on h2 running")
    assert verdicts(missing_domain, cloud) == []
    assert len(verdicts(domain_elsewhere, cloud)) == 1
