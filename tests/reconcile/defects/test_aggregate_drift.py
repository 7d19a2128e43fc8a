# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.reconcile.defects.asking import found, guards, reason, steps
from tests.reconcile.planning import facts_of
from tests.scenarios.names import aggregate_of, uuid_of
from trueup.reconcile.defects import aggregate_drift
from trueup.reconcile.reasons import because
from trueup.reconcile.steps import Aggregates, AggregatesOfHost, NodeIs, NotShared

CLOUD = "cell1\n  host h1 VCPU=8 aggregates={}\n{}"


def listed(names: Iterable[str]) -> Aggregates:
    """The aggregates of these names, as they are compared and written."""
    return Aggregates(tuple(sorted(map(aggregate_of, names))))


@pytest.mark.parametrize(
    ("of_provider", "of_host", "after"),
    [
        ("", "aggregate rack h1", ["rack"]),
        ("rack", "aggregate rack h9", []),
        ("rack", "aggregate rack\naggregate zone h1", ["zone"]),
        ("foreign", "aggregate rack h1", ["foreign", "rack"]),
        ("foreign,rack", "aggregate rack h9", ["foreign"]),
    ],
)
def test_the_step_adds_and_removes_only_aggregates_of_nova(of_provider, of_host, after):
    [step] = steps(aggregate_drift, CLOUD.format(of_provider, of_host))
    [change] = step.changes
    assert change.before == listed(filter(None, of_provider.split(",")))
    assert change.after == listed(after)


def test_the_write_needs_the_host_and_its_aggregates_as_they_were():
    made = steps(aggregate_drift, CLOUD.format("", "aggregate rack h1"))
    assert guards(made, AggregatesOfHost) == [AggregatesOfHost("h1", (aggregate_of("rack"),))]
    [node] = guards(made, NodeIs)
    assert (node.host, node.node) == ("h1", uuid_of("h1"))


@pytest.mark.parametrize(
    ("of_provider", "left"), [("", []), ("rack", [NotShared((aggregate_of("rack"),))])]
)
def test_what_is_left_needs_that_no_pool_shares_by_it(of_provider, left):
    """One that joins between plan and apply would be lost to the host."""
    made = steps(aggregate_drift, CLOUD.format(of_provider, "aggregate rack\naggregate zone h1"))
    assert guards(made, NotShared) == left


def test_the_evidence_names_both_directions():
    one = found(aggregate_drift, CLOUD.format("rack", "aggregate rack\naggregate zone h1"))
    assert [row["name"] for row in one.evidence["not_in"]] == ["zone"]
    assert [row["name"] for row in one.evidence["wrongly_in"]] == ["rack"]


def test_a_compute_node_that_names_a_host_without_a_service_loses_no_aggregate():
    """As after `UPDATE compute_nodes SET host = …` by hand: its host is in the aggregate still."""
    facts = facts_of(CLOUD.format("rack", "aggregate rack h1"))
    [node] = facts.compute_nodes
    renamed = replace(facts, compute_nodes=(replace(node, host="h1.example"),))
    words = reason(aggregate_drift, renamed)
    assert "names host h1.example, which has no compute service in cell1" in words


@pytest.mark.parametrize(
    ("of_provider", "aggregates", "said"),
    [
        ("zone", "aggregate zone H1", "the host aggregate zone has it as H1"),
        (
            "zone,rack",
            "aggregate zone h1\naggregate rack H1",
            "the host aggregate rack has it as H1",
        ),
    ],
)
def test_a_host_in_other_letters_may_be_in_the_aggregate(of_provider, aggregates, said):
    assert reason(aggregate_drift, CLOUD.format(of_provider, aggregates)).startswith(said)


def test_other_letters_elsewhere_do_not_matter():
    cloud = CLOUD.format("rack", "aggregate rack\naggregate zone H1\naggregate own h1 H1")
    assert [row["name"] for row in found(aggregate_drift, cloud).evidence["wrongly_in"]] == ["rack"]


def test_without_the_aggregates_of_the_provider_there_is_no_step():
    """They may not be answered when the plan reads them again."""
    facts = facts_of(CLOUD.format("", "aggregate rack h1"))
    one = found(aggregate_drift, facts)
    unread = {uuid: replace(row, aggregates=None) for uuid, row in facts.providers.items()}
    remedy = aggregate_drift.remedy(one, replace(facts, providers=unread))
    assert remedy == because("aggregates-not-read")


def test_a_provider_that_is_right_meanwhile_has_no_step():
    facts = facts_of(CLOUD.format("", "aggregate rack h1"))
    one = found(aggregate_drift, facts)
    right = facts_of(CLOUD.format("rack", "aggregate rack h1"))
    assert aggregate_drift.remedy(one, right) == because("aggregates-right-now")
