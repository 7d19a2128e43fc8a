# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, left_with, reason, steps, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import wrong_owner

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 {} VCPU=2 MEMORY_MB=256
{}
holds web h1 VCPU={} MEMORY_MB=256
owned web project={} user={}
"""


@pytest.mark.parametrize(
    ("project", "user"), [("other", "a-user"), ("a-project", "other"), ("0", "0")]
)
def test_the_amounts_stay_and_the_owner_becomes_novas(project, user):
    after = left_with(steps(wrong_owner, CLOUD.format("", "", 2, project, user)))[uuid_of("web")]
    assert after is not None
    assert after.amounts == {uuid_of("h1"): {"VCPU": 2, "MEMORY_MB": 256}}
    assert (after.project, after.user) == ("a-project", "a-user")


def test_wrong_amounts_are_repaired_first():
    assert "repair that first" in declined(wrong_owner, CLOUD.format("", "", 1, "other", "other"))


def test_both_owners_are_evidence():
    evidence = found(wrong_owner, CLOUD.format("", "", 2, "other", "a-user")).evidence
    assert evidence["counted_for"] == {"project": "other", "user": "a-user"}
    assert evidence["should_count_for"] == {"project": "a-project", "user": "a-user"}


@pytest.mark.parametrize(("server", "more"), [("project=", ""), ("", "cell2 silent")])
def test_whose_it_is_must_be_known(server, more):
    assert reason(wrong_owner, CLOUD.format(server, more, 2, "other", "other"))


def test_in_motion_a_move_by_an_administrator_may_count_for_her():
    assert verdicts(wrong_owner, CLOUD.format("task=migrating", "", 2, "other", "other")) == []
