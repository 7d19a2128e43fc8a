# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import found, reason, verdicts
from trueup.reconcile.defects import ghost_domain
from trueup.reconcile.verdicts import Severity

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
  server old on h1 deleted={}
guest old on h1 {}
"""


@pytest.mark.parametrize(
    ("state", "severity"), [("running", Severity.HIGH), ("shut off", Severity.LOW)]
)
def test_a_guest_that_runs_is_worse_than_a_definition(state, severity):
    assert found(ghost_domain, CLOUD.format(3600, state)).severity is severity


@pytest.mark.parametrize(
    ("age", "grace", "ghost"),
    [(599, 600, False), (600, 600, True), (3600, 600, True), (3600, 7200, False)],
)
def test_nova_compute_is_given_the_grace_to_reap_it(age, grace, ghost):
    told = verdicts(ghost_domain, CLOUD.format(age, "running"), grace)
    assert [hasattr(one, "severity") for one in told] == [ghost]


def test_domains_of_one_instance_on_two_hosts_are_one_finding():
    one = found(ghost_domain, CLOUD.format(3600, "shut off") + "guest old on h2 shut off\n")
    assert one.where == "h1, h2"


def test_somebody_elses_domain_is_not_spoken_of():
    assert verdicts(ghost_domain, CLOUD.format(3600, "running foreign")) == []
    both = CLOUD.format(3600, "shut off") + "guest old on h2 running foreign\n"
    assert found(ghost_domain, both).severity is Severity.LOW
    assert found(ghost_domain, both).where == "h1"


def test_a_domain_that_no_cell_knows_proves_nothing():
    unknown = "cell1\n  host h1 VCPU=8\nguest stray on h1 running\n"
    assert "its row may be purged" in reason(ghost_domain, unknown)
