# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.defects.asking import declined, found, verdicts
from trueup.reconcile.defects import consumerless_allocation

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
cell2 silent
ledger-fault consumerless h1 VCPU=2 MEMORY_MB=64 first
ledger-fault consumerless h1 VCPU=1 second
"""


def test_the_faults_of_one_subject_are_one_finding_also_while_a_cell_is_silent():
    one = found(consumerless_allocation, CLOUD)
    assert [row["name"] for row in one.evidence["rows"]] == ["first", "second"]
    assert [row["amount"] for row in one.evidence["rows"]] == [2, 1]


def test_faults_of_another_kind_are_not_its_own():
    other = CLOUD.replace("ledger-fault consumerless", "ledger-fault tree")
    assert verdicts(consumerless_allocation, other.replace(" h1 ", " h1 ")) == []


def test_no_step_writes_to_the_database_beside_placement():
    assert "trueup-manage db fsck --repair" in declined(consumerless_allocation, CLOUD)
