# SPDX-License-Identifier: Apache-2.0
"""What is read of one host, before it is retired and afterwards."""

from trueup.reconcile.runbooks.host_reading import former_providers, left_of, read_host
from trueup.reconcile.steps import ProviderContents

HOST = "compute-01"


def node_of(small) -> dict:
    query = "SELECT uuid, hypervisor_hostname AS name FROM compute_nodes WHERE host = ?"
    return small.sql("nova_cell1", query, HOST)[0]


def test_moves_and_whole_providers(small):
    node = node_of(small)
    found = read_host(small.cloud, HOST, [node["uuid"], "gone"])
    assert {row.status for row in found.moves} == {"finished", "confirmed"}
    assert found.agents is None
    [contents] = found.contents.values()
    assert isinstance(contents, ProviderContents)
    assert contents.name == node["name"]
    assert contents.traits
    assert "VCPU" in contents.inventories


def test_what_is_left_is_named_until_it_is_gone(small):
    node = node_of(small)
    left = left_of(small.cloud, HOST, [node["uuid"]])
    assert f"host aggregate ssd has {HOST}" in left
    assert f"cell1 has a compute service of {HOST}" in left
    assert f"compute node {node['name']} is not deleted" in left
    assert f"Placement has the provider {node['name']} ({node['uuid']})" in left
    assert left_of(small.cloud, "nowhere", ["gone"]) == ()


def test_providers_are_former_when_all_of_the_host_is_deleted(small):
    assert former_providers(small.cloud, HOST) is None
    assert former_providers(small.cloud, "nowhere") is None
    small.sql("nova_cell1", "UPDATE compute_nodes SET deleted = id WHERE host = ?", HOST)
    assert former_providers(small.cloud, HOST) is None
    small.sql("nova_cell1", "UPDATE services SET deleted = id WHERE host = ?", HOST)
    assert former_providers(small.cloud, HOST) == {node_of(small)["uuid"]}
