# SPDX-License-Identifier: Apache-2.0
"""The counts that pages and metrics show: those of the command, by zone, or why there are none."""

from dataclasses import replace

import pytest

from tests.reconcile.page.paging import seen
from trueup.capacity.asked import NotAskable, asked_of_amounts
from trueup.capacity.summary import gap_of, summary
from trueup.reconcile.facts import HostAggregate
from trueup.reconcile.page.placeable import Failures
from trueup.reconcile.reasons import because

CLOUD = """
cell1
  host h1 VCPU=8 MEMORY_MB=64 up
  host h2 VCPU=4 MEMORY_MB=64 up
  host h3 VCPU=9 MEMORY_MB=64 up disabled
  server web on h1 VCPU=2 MEMORY_MB=8
  server gone on h1 deleted=3600 VCPU=2 MEMORY_MB=8
holds web h1 VCPU=2 MEMORY_MB=8
holds gone h1 VCPU=2 MEMORY_MB=8
"""
CPUS = asked_of_amounts({"VCPU": 2})


def test_every_flavor_is_counted_in_every_zone():
    observed = seen(CLOUD)
    zone = HostAggregate("uuid", "fast", ("h2",), {"availability_zone": "fast"})
    facts = replace(observed.facts, host_aggregates=(zone,))
    refused = NotAskable("odd", because("flavor-unreadable"))
    found = summary(replace(observed, facts=facts), [CPUS, refused])
    assert {(row.flavor, row.zone): (row.now, row.repaired, row.hosts) for row in found.rows} == {
        ("VCPU=2", "fast"): (2, 2, 1),
        ("VCPU=2", "nova"): (2, 3, 1),
    }
    assert found.in_all == {"VCPU=2": 4}
    assert "1 of 3 hosts get no servers: 1 disabled." in found.remarks
    assert any("odd is not counted" in remark for remark in found.remarks)


def test_what_zones_share_is_there_once():
    pool = "provider pool DISK_GB=3 sharing\n  shares with h1\n  shares with h2\n"
    text = "cell1\n  host h1 VCPU=8 up\n  host h2 VCPU=8 up\n" + pool.partition("\n")[0]
    observed = seen(text)
    facts = observed.facts
    [shared] = facts.sharing
    roots = frozenset(row.uuid for row in facts.compute_nodes)
    providers = {**facts.providers, shared.uuid: replace(shared, shares_with=roots)}
    zone = HostAggregate("uuid", "fast", ("h2",), {"availability_zone": "fast"})
    facts = replace(facts, providers=providers, host_aggregates=(zone,))
    found = summary(replace(observed, facts=facts), [asked_of_amounts({"VCPU": 1, "DISK_GB": 1})])
    assert [row.now for row in found.rows] == [3, 3]
    assert [*found.in_all.values()] == [3]


def test_failures_are_counted_where_there_are_not_too_many(monkeypatch):
    assert summary(seen(CLOUD), [CPUS]).failures == Failures(absorbed=3, uncertain=0, lost=0)
    tight = CLOUD.replace("h2 VCPU=4", "h2 VCPU=1")
    assert summary(seen(tight), [CPUS]).failures == Failures(absorbed=2, uncertain=0, lost=1)
    monkeypatch.setattr("trueup.capacity.summary.FAILURES_MAX", 2)
    assert summary(seen(CLOUD), [CPUS]).failures is None


@pytest.mark.parametrize(
    ("more", "gap"),
    [
        ("", ""),
        ("neutron silent\n", ""),
        ("cell2 silent\n", "cell2 did not answer"),
    ],
)
def test_of_a_part_of_a_cloud_nothing_is_counted(more, gap):
    assert gap_of(seen(CLOUD + more).facts) == gap
    part = replace(seen(CLOUD).facts, hosts_in_scope=frozenset({"h1"}))
    assert gap_of(part) == "only a part of the cloud was selected"
