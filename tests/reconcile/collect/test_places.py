# SPDX-License-Identifier: Apache-2.0
"""A second reading of some hosts and providers says of them what the first one says."""

from dataclasses import replace

from tests.reconcile.small import Small
from trueup.reconcile.audit import audit
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.places import collect_places
from trueup.reconcile.verdicts import AuditOptions


def quiet(*_: object) -> None:
    pass


def test_the_trees_and_all_that_is_held_of_them_are_read(small: Small):
    whole = collect(small.cloud, quiet)
    node = whole.compute_nodes[0]
    part = collect_places(small.cloud, quiet, frozenset({node.host}))
    tree = {row.uuid for row in whole.providers.values() if row.root == node.uuid}
    assert tree <= part.providers.keys()
    for uuid in tree:
        assert part.used.get(uuid) == whole.used.get(uuid)
        assert part.judges(uuid)
    assert not any(part.judges(row.uuid) for row in whole.compute_nodes if row is not node)


def test_a_place_that_nothing_knows_is_left_out(small: Small):
    part = collect_places(small.cloud, quiet, frozenset({"nowhere"}))
    assert (part.consumers, part.hosts_in_scope) == ({}, frozenset())


def test_what_is_wrong_with_a_host_is_found_again(small: Small):
    host = collect(small.cloud, quiet).compute_nodes[0].host
    small.sql("nova_api", "DELETE FROM host_mappings WHERE host = ?", host)
    found = [
        row
        for facts in (
            collect(small.cloud, quiet),
            collect_places(small.cloud, quiet, frozenset({host})),
        )
        for row in audit(replace(facts), AuditOptions()).findings
        if row.subject.kind == "host"
    ]
    assert [row.id for row in found] == [f"host-mapping-missing:{host}"] * 2
    assert found[0] == found[1]


def test_all_traits_and_aggregates_are_read_of_however_many_places(on_both: Small):
    """A provider is deleted only with all that is needed to make it again."""
    placement, sql = on_both.cloud.placement, on_both.sql
    hosts = collect(on_both.cloud, quiet).compute_nodes
    host = hosts[0]
    placement.send("PUT", "/traits/CUSTOM_RACK_7", None).raise_for_status()
    sql(
        "placement",
        "INSERT INTO resource_provider_traits (resource_provider_id, trait_id)"
        " SELECT p.id, t.id FROM resource_providers p, traits t"
        " WHERE p.uuid = ? AND t.name = 'CUSTOM_RACK_7'",
        host.uuid,
    )
    facts = collect_places(on_both.cloud, quiet, frozenset(row.uuid for row in hosts))
    found = facts.providers[host.uuid]
    assert "CUSTOM_RACK_7" in found.traits
    rows = sql(
        "placement",
        "SELECT a.uuid FROM placement_aggregates a"
        " JOIN resource_provider_aggregates r ON r.aggregate_id = a.id"
        " JOIN resource_providers p ON p.id = r.resource_provider_id WHERE p.uuid = ?",
        host.uuid,
    )
    assert found.aggregates == {row["uuid"] for row in rows} != set()
