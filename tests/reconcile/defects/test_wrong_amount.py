# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.defects.asking import found, left_with, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import doubled_allocation, wrong_amount
from trueup.reconcile.verdicts import Finding

CLOUD = """
cell1
  host h1 VCPU=99 MEMORY_MB=9999
  server web on h1 {} VCPU={} MEMORY_MB={}
holds web h1 VCPU={} MEMORY_MB={}
"""
CPUS, MEMORY = st.integers(1, 8), st.integers(1, 8)


@given(CPUS, MEMORY, CPUS, MEMORY)
def test_whatever_it_holds_of_its_host_it_holds_what_it_should_afterwards(
    cpus, memory, held_cpus, held_memory
):
    """Exactly one of: right, doubled, a wrong amount. The oracle is the flavor itself."""
    cloud = CLOUD.format("", cpus, memory, held_cpus, held_memory)
    told = [(one, verdicts(one, cloud)) for one in (wrong_amount, doubled_allocation)]
    findings = [(one, rows) for one, rows in told if rows]
    if (held_cpus, held_memory) == (cpus, memory):
        assert findings == []
        return
    [(defect, rows)] = findings
    assert all(isinstance(row, Finding) for row in rows)
    twice = (held_cpus, held_memory) == (2 * cpus, 2 * memory)
    assert defect is (doubled_allocation if twice else wrong_amount)
    after = left_with(steps(defect, cloud))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): {"VCPU": cpus, "MEMORY_MB": memory}}


@pytest.mark.parametrize(("words", "disk"), [("volume", "a volume"), ("", "on its host")])
def test_the_evidence_says_what_the_right_amount_follows_from(words, disk):
    evidence = found(wrong_amount, CLOUD.format(words, 2, 64, 1, 64)).evidence
    assert (evidence["flavor"], evidence["root_disk"]) == ("a-flavor", disk)


@pytest.mark.parametrize(
    ("words", "policy"), [("hw:cpu_policy=shared", "shared"), ("pinned", "dedicated"), ("", None)]
)
def test_the_evidence_says_which_cpu_policy_the_flavor_or_the_image_asks_for(words, policy):
    cloud = CLOUD.format(words, 2, 64, 1, 64).replace("VCPU=99", "VCPU=99 PCPU=9")
    assert found(wrong_amount, cloud).evidence.get("cpu_policy") == policy
