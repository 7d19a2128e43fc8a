# SPDX-License-Identifier: Apache-2.0
from tests.reconcile.defects.asking import declined, found, verdicts
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import broken_tree

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
provider nic of h1 root=h2 NET_BW=100
"""


def test_what_the_api_shows_and_what_the_database_says_of_one_provider_is_one_finding():
    """Both name the same provider: it is told once, in the database's words."""
    assert len(verdicts(broken_tree, CLOUD)) == 1
    both = found(broken_tree, CLOUD + "ledger-fault tree nic its root is another host\n")
    assert [row["name"] for row in both.evidence["rows"]] == ["its root is another host"]


def test_no_step_writes_to_the_database_beside_placement():
    assert "trueup-manage db fsck --repair" in declined(broken_tree, CLOUD)


def test_what_fsck_leaves_is_taken_out_of_the_tree_over_the_api():
    below = "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nprovider h2 of h1 VCPU=8\n"
    reason = declined(broken_tree, below)
    assert f"PUT /resource_providers/{uuid_of('h2')}" in reason
    assert "fsck" not in reason
