# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, verdicts
from tests.reconcile.planning import audited
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import split_consumer

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
{}
"""


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        ("holds web-without-dashes h1 VCPU=2", "instance"),
        ("holds container h1 VCPU=1\nholds container-without-dashes h1 VCPU=1", "consumer"),
    ],
)
def test_the_subject_is_what_both_forms_stand_for(held, kind):
    one = found(split_consumer, CLOUD.format(held))
    assert one.subject.kind == kind
    assert len(one.consumers) == 1


def test_one_form_that_nobody_knows_is_not_split():
    assert verdicts(split_consumer, CLOUD.format("holds container-without-dashes h1 VCPU=1")) == []


def test_the_claim_is_not_judged_before_the_forms_are_merged():
    """Neither form alone says what it holds: a plan would allocate it a second time."""
    told = audited(CLOUD.format("holds web-without-dashes h1 VCPU=2 MEMORY_MB=256"))
    assert {row.defect for row in told.findings} == {"split-consumer"}
    assert uuid_of("web") in {row.subject.uuid for row in told.findings}


def test_the_command_that_merges_them_is_named():
    one = "holds web-without-dashes h1 VCPU=2\n"
    words = declined(split_consumer, CLOUD.format(f"{one}holds web h1 MEMORY_MB=256\n"))
    assert "`trueup-manage db fsck --repair`" in words
    written = uuid_of("web").replace("-", "")
    only = declined(split_consumer, CLOUD.format(one))
    assert f"SET uuid = '{uuid_of('web')}' WHERE uuid = '{written}'" in only
