# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, reason, verdicts
from trueup.reconcile.defects import domain_elsewhere
from trueup.reconcile.verdicts import Severity

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server web on h1 {} VCPU=1 MEMORY_MB=64
holds web h1 VCPU=1 MEMORY_MB=64
guest web on h2 {}
"""


@pytest.mark.parametrize(
    ("state", "dangerous"),
    [("running", True), ("paused", True), ("shut off", False), ("running foreign", False)],
)
def test_only_a_guest_of_nova_that_is_active_is_dangerous(state, dangerous):
    told = verdicts(domain_elsewhere, CLOUD.format("", state))
    assert [one.severity for one in told] == [Severity.CRITICAL] * dangerous


def test_of_a_guest_on_both_hosts_both_are_evidence():
    both = CLOUD.format("", "running") + "guest web on h1 running\n"
    assert [row["host"] for row in found(domain_elsewhere, both).evidence["domains"]] == [
        "h1", "h2",
    ]  # fmt: skip


def test_in_motion_the_guest_may_be_on_either_host():
    assert verdicts(domain_elsewhere, CLOUD.format("task=migrating", "running")) == []


def test_a_silent_cell_may_know_better():
    silent = CLOUD.format("", "running") + "cell2 silent\n"
    assert "cell2 did not answer" in reason(domain_elsewhere, silent)


def test_the_only_guest_is_not_to_be_stopped():
    words = declined(domain_elsewhere, CLOUD.format("", "running"))
    assert "do not stop it" in words
    assert "stop the wrong one" not in words


def test_a_deleted_row_in_the_cell_of_that_host_does_not_put_the_guest_there():
    """As after a resize between cells that was reverted by hand."""
    [one] = verdicts(domain_elsewhere, CLOUD.format("", "running").replace(
        "holds web", "cell2\n  host h3 VCPU=8\n  server web on h2 deleted=3600\nholds web", 1
    ))  # fmt: skip
    assert (one.where, one.severity) == ("h2", Severity.CRITICAL)
