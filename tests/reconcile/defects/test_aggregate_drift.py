# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.reconcile.defects.asking import found, guards, steps
from tests.scenarios.names import uuid_of
from trueup.reconcile.changes.aggregates import Aggregates
from trueup.reconcile.defects import aggregate_drift
from trueup.reconcile.place_guards import AggregatesOfHost, NodeIs

CLOUD = "cell1\n  host h1 VCPU=8 aggregates={}\n{}"


@pytest.mark.parametrize(
    ("of_provider", "of_host", "after"),
    [
        ("", "aggregate rack h1", ["rack"]),
        ("rack", "aggregate rack", []),
        ("rack", "aggregate rack\naggregate zone h1", ["zone"]),
        ("foreign", "aggregate rack h1", ["foreign", "rack"]),
        ("foreign,rack", "aggregate rack", ["foreign"]),
    ],
)
def test_the_step_adds_and_removes_only_aggregates_of_nova(of_provider, of_host, after):
    [step] = steps(aggregate_drift, CLOUD.format(of_provider, of_host))
    [change] = step.changes
    assert change.before == Aggregates(tuple(sorted(filter(None, of_provider.split(",")))))
    assert change.after == Aggregates(tuple(after))


def test_the_write_needs_the_host_and_its_aggregates_as_they_were():
    made = steps(aggregate_drift, CLOUD.format("", "aggregate rack h1"))
    assert guards(made, AggregatesOfHost) == [AggregatesOfHost("h1", ("rack",))]
    [node] = guards(made, NodeIs)
    assert (node.host, node.node) == ("h1", uuid_of("h1"))


def test_the_evidence_names_both_directions():
    one = found(aggregate_drift, CLOUD.format("rack", "aggregate rack\naggregate zone h1"))
    assert [row["name"] for row in one.evidence["not_in"]] == ["zone"]
    assert [row["name"] for row in one.evidence["wrongly_in"]] == ["rack"]
