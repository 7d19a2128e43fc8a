# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import declined, found, reason, verdicts
from trueup.reconcile.defects import missing_provider, provider_identity_clash

CLOUD = "cell1\n  host h1 without-provider {}\n{}"


@pytest.mark.parametrize(("made", "new"), [(599, True), (600, False)])
def test_a_nova_compute_that_starts_is_given_the_grace(made, new):
    told = verdicts(missing_provider, CLOUD.format(f"made={made}", ""))
    assert [hasattr(one, "reason") for one in told] == [new]


def test_a_provider_of_that_name_makes_it_a_clash_and_only_that():
    cloud = CLOUD.format("uuid=another", "provider h1 VCPU=8\n")
    assert verdicts(missing_provider, cloud) == []
    assert found(provider_identity_clash, cloud)


def test_a_provider_without_a_root_is_there_and_is_a_broken_tree():
    assert verdicts(missing_provider, CLOUD.format("", "ledger-fault tree h1 no root\n")) == []


def test_two_nodes_of_one_uuid_have_no_provider_of_their_own():
    cloud = CLOUD.format("uuid=same", "  host h2 without-provider uuid=same\n")
    assert verdicts(missing_provider, cloud) == []


def test_nova_compute_makes_it():
    assert "restart nova-compute on h1" in declined(missing_provider, CLOUD.format("", ""))
    assert "20 s ago" in reason(missing_provider, CLOUD.format("made=20", ""))
