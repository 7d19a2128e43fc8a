# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import declined, found, reason, verdicts
from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.defects import (
    duplicate_provider,
    missing_provider,
    orphaned_provider,
    provider_identity_clash,
)
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import Severity

ALONE = "cell1\n  host h1 VCPU=8 uuid=h1-new\n"
BESIDE = (
    "cell1\n  host h1 without-provider uuid=h1-new\nprovider h1 VCPU=8\nprovider h1-new VCPU=8\n"
)


@pytest.mark.parametrize("cloud", [ALONE, BESIDE])
def test_no_other_defect_is_about_these_providers(cloud):
    assert found(provider_identity_clash, cloud).subject.uuid == "h1"
    for other in (duplicate_provider, missing_provider, orphaned_provider):
        assert verdicts(other, cloud) == []


@pytest.mark.parametrize(
    ("cloud", "held", "command"),
    [
        (ALONE, "", "trueup rekey h1"),
        (ALONE, "holds web h1 VCPU=1\n", "trueup rekey h1"),
        (BESIDE, "holds web h1 VCPU=1\n", f"trueup merge {uuid_of('h1')} {uuid_of('h1-new')}"),
        (
            BESIDE,
            "holds web h1-new VCPU=1\n",
            f"openstack resource provider delete {uuid_of('h1')}",
        ),
    ],
)
def test_the_command_that_repairs_it_is_named(cloud, held, command):
    assert f"`{command}`" in declined(provider_identity_clash, cloud + held)


def test_one_uuid_is_enough_to_see_a_clash_and_a_second_provider_needs_every_cell():
    assert found(provider_identity_clash, ALONE + "cell2 silent\n")
    assert "cell2 did not answer" in reason(provider_identity_clash, BESIDE + "cell2 silent\n")


def test_the_provider_of_a_living_host_is_never_renamed():
    other = ALONE + "cell2\n  host h1 without-provider uuid=h1\n"
    words = declined(provider_identity_clash, other)
    assert "trueup" not in words
    assert "install it under another name" in words


def test_compute_nodes_that_have_one_uuid_together_are_left_to_the_audit():
    both = ALONE + "  host h2 without-provider uuid=h1-new\n"
    assert verdicts(provider_identity_clash, both) == []


def test_providers_of_two_hosts_of_one_name_are_not_called_renamed():
    """Placement has at most one provider of that name, so the other has another name rightly."""
    cells = "cell{0}\n  host h1 without-provider uuid=p{0}\nprovider p{0} VCPU=8\n"
    assert verdicts(provider_identity_clash, cells.format(1) + cells.format(2)) == []
    assert found(provider_identity_clash, cells.format(1))


def test_exchanged_names_are_worse_than_a_new_name():
    renamed = "cell1\n  host h1 without-provider uuid=p1\nprovider p1 VCPU=8\n"
    assert found(provider_identity_clash, renamed).severity is Severity.MEDIUM
    exchanged = (
        "cell1\n  host h1 without-provider uuid=h2\n  host h2 without-provider uuid=h1\n"
        "provider h1 VCPU=8\nprovider h2 VCPU=8\n"
    )
    told = verdicts(provider_identity_clash, exchanged)
    assert [one.severity for one in told] == [Severity.HIGH, Severity.HIGH]


def test_for_a_compute_node_without_a_name_no_provider_is_renamed():
    facts = facts_of("cell1\n  host h1 VCPU=8\n")
    [node] = facts.compute_nodes
    words = declined(
        provider_identity_clash, replace(facts, compute_nodes=(replace(node, node=""),))
    )
    assert "resource provider set" not in words
    assert "no name in cell1: if its provider's, h1, is right" in words


def test_of_two_compute_nodes_of_one_name_the_host_of_each_is_named():
    facts = facts_of(ALONE + "  host h2 without-provider uuid=h2-new\n")
    nodes = tuple(replace(row, node="h1") for row in facts.compute_nodes)
    alike = replace(facts, compute_nodes=nodes)
    for one in verdicts(provider_identity_clash, alike):
        remedy = provider_identity_clash.remedy(one, alike)
        assert f"`trueup rekey {one.subject.uuid}`" in in_words(remedy)
    assert len(verdicts(provider_identity_clash, alike)) == 2
