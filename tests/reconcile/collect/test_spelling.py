# SPDX-License-Identifier: Apache-2.0
"""Hosts in other letters: one host where Nova's database says so, and nowhere else."""

import pytest

from tests.cli.running import trueup
from tests.clouds import damage
from trueup.reconcile.collect.scope import spellings
from trueup.reconcile.collect.spelling import as_nodes_spell
from trueup.reconcile.facts import ComputeNode, HostAggregate, HostMapping
from trueup.reconcile.sources.nova.contract import Registry


def node(host: str, cell: str = "cell1") -> ComputeNode:
    return ComputeNode(uuid=f"{host} of {cell}", cell=cell, host=host, node=host, number=1)


def registry(folds_case: bool) -> Registry:
    return Registry(
        host_mappings=(HostMapping("Host1", "cell1"), HostMapping("Host2", "cell1")),
        host_aggregates=(HostAggregate("a", "rack", ("HOST1", "host1", "Host2")),),
        folds_case=folds_case,
    )


def test_hosts_are_spelled_as_their_nodes_where_the_database_compares_without_case():
    found = as_nodes_spell(registry(folds_case=True), [node("host1")])
    assert [row.host for row in found.host_mappings] == ["host1", "Host2"]
    assert found.host_aggregates[0].hosts == ("host1", "Host2")
    assert found.aggregates_of("HOST2") == {"a"}


def test_elsewhere_they_stay_as_they_are():
    kept = registry(folds_case=False)
    assert as_nodes_spell(kept, [node("host1")]) is kept
    assert kept.aggregates_of("HOST2") == frozenset()


def test_a_name_that_two_nodes_spell_in_two_ways_is_of_neither():
    assert spellings([node("host1"), node("HOST1", "cell2"), node("host2")]) == {"host2": "host2"}


@pytest.fixture
def renamed(recorded_cloud, monkeypatch):
    """A host that was called DevStack1 (Launchpad 1866380), on MariaDB."""
    cloud = recorded_cloud("healthy", "trueup", own_cells=True)
    cell = cloud.cell_urls["cell1"]
    damage.execute(cell, "UPDATE services SET last_seen_up = '2100-01-01'")
    damage.execute(cell, "UPDATE services SET host = 'DevStack1' WHERE host = 'devstack1'")
    for table in ("host_mappings", "aggregate_hosts"):
        statement = f"UPDATE {table} SET host = 'DevStack1' WHERE host = 'devstack1'"
        damage.execute(cloud.nova_api_url, statement)
    monkeypatch.setenv("TRUEUP_NOVA_CONF", str(cloud.nova_conf))
    return cloud


def test_a_host_in_other_letters_is_one_host_on_mariadb(renamed):
    whole = trueup("audit")
    assert (whole.code, "in other letters" in whole.out) == (0, False), whole.out + whole.err
    stories = [trueup("explain", "host", name) for name in ("DevStack1", "devstack1")]
    assert {ran.code for ran in stories} == {0}
    assert stories[0].out == stories[1].out
    assert trueup("audit", "--host", "DEVSTACK1").code == 0
