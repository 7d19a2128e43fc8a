# SPDX-License-Identifier: Apache-2.0
"""Each guard says by name what no longer holds, and nothing while it does."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.reconcile.small import Small
from trueup.reconcile.clock import now
from trueup.reconcile.facts import Domain, InstanceState, NetworkAgent
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.guard_checks import broken
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.libvirt import HostDomains
from trueup.reconcile.sources.nova.contract import CellContents, NovaCell
from trueup.reconcile.sources.nova.databases import NovaDatabases
from trueup.reconcile.steps import (
    AgentsDown,
    AggregatesOfHost,
    AllocationsOf,
    CellFresh,
    DomainIs,
    Guard,
    HostEmpty,
    MigrationState,
    NodeGone,
    NodeIs,
    NoInstance,
    NotShared,
    ServiceDown,
    ServiceSetting,
    VersionIs,
)

WRONG = "wrong-provider"
MIGRATION = "11111111-2222-4333-8444-555555555555"


def reasons(guard: Guard, cloud: Cloud) -> list[str]:
    return [in_words(one) for one in broken(guard, cloud)]


def cell_of(small: Small) -> str:
    name = small.planted[WRONG].cell
    [cell] = [one for one in small.cloud.nova.cells() if one.name == name]
    return cell.uuid


def host_of(small: Small) -> str:
    cell = f"nova_{small.planted[WRONG].cell}"
    rows = small.sql(cell, "SELECT host FROM instances WHERE uuid = ?", small.consumer(WRONG))
    return rows[0]["host"]


def reported(small: Small, seconds_ago: int, forced_down: int = 0) -> None:
    """Every compute service of the cell last reported so long ago."""
    small.sql(
        f"nova_{small.planted[WRONG].cell}",
        "UPDATE services SET last_seen_up = ?, forced_down = ?",
        (now() - timedelta(seconds=seconds_ago)).isoformat(sep=" "),
        forced_down,
    )


@pytest.mark.parametrize(
    ("seconds_ago", "forced_down", "up"), [(3600, 0, False), (1, 1, False), (1, 0, True)]
)
def test_a_service_that_came_back_is_named(small, seconds_ago, forced_down, up):
    reported(small, seconds_ago, forced_down)
    host = host_of(small)
    words = [f"the nova-compute of {host} was down, it is up"] if up else []
    assert reasons(ServiceDown(cell_of(small), host), small.cloud) == words
    assert reasons(ServiceDown(cell_of(small), "another"), small.cloud) == []


@pytest.mark.parametrize("gone", ["DELETE FROM services", "UPDATE services SET deleted = id"])
def test_a_compute_node_without_a_service_is_not_known_to_be_down(small, gone):
    cell, host = f"nova_{small.planted[WRONG].cell}", host_of(small)
    guard = ServiceDown(cell_of(small), host.upper())
    small.sql(cell, gone)
    assert reasons(guard, small.cloud) == [
        f"{host.upper()} has a compute node and no compute service: it may be up"
    ]
    small.sql(cell, "UPDATE compute_nodes SET deleted = id")
    assert reasons(guard, small.cloud) == []


def test_a_cell_whose_services_do_not_report_is_no_fresh_evidence(small):
    guard = CellFresh(cell_of(small), 60)
    reported(small, 1)
    assert reasons(guard, small.cloud) == []
    reported(small, 600)
    [reason] = reasons(guard, small.cloud)
    assert reason.startswith("no service of the cell has reported for 10 minutes")
    small.sql(f"nova_{small.planted[WRONG].cell}", "DELETE FROM services")
    assert reasons(guard, small.cloud) == [
        "no service of the cell has ever reported: its database may be a lagging replica"
    ]


def test_a_cell_is_no_fresh_evidence_by_the_clock_of_its_database_either(small, monkeypatch):
    reported(small, 1)
    behind = now() - timedelta(seconds=600)
    monkeypatch.setattr("trueup.reconcile.runs.guard_checks.now", lambda: behind)
    monkeypatch.setattr("trueup.reconcile.sources.nova.cells.now", lambda: behind)
    assert reasons(CellFresh(cell_of(small), 660), small.cloud) == []
    reported(small, 600)
    [reason] = reasons(CellFresh(cell_of(small), 60), small.cloud)
    assert reason.startswith("no service of the cell has reported for 10 minutes")


def test_by_a_clock_of_ours_that_is_ahead_no_service_is_down(small, monkeypatch):
    reported(small, 1)
    ahead = now() + timedelta(seconds=400)
    monkeypatch.setattr("trueup.reconcile.sources.nova.cells.now", lambda: ahead)
    assert reasons(CellFresh(cell_of(small), 900), small.cloud) == []
    [reason] = reasons(CellFresh(cell_of(small), 600), small.cloud)
    assert reason.startswith("the clock of this machine is ")


def test_a_migration_that_changed_or_is_gone_is_named(small):
    guard = MigrationState(cell_of(small), small.consumer(WRONG), MIGRATION, "error")
    assert reasons(guard, small.cloud) == [f"migration {MIGRATION} is gone from its cell"]
    small.sql(
        f"nova_{small.planted[WRONG].cell}",
        "INSERT INTO migrations (uuid, instance_uuid, migration_type, status, deleted, hidden)"
        " VALUES (?, ?, 'resize', 'error', 0, 0)",
        MIGRATION,
        small.consumer(WRONG),
    )
    assert reasons(guard, small.cloud) == []
    small.sql(f"nova_{small.planted[WRONG].cell}", "UPDATE migrations SET status = 'confirmed'")
    assert reasons(guard, small.cloud) == ["the migration's status was error, it is confirmed"]


def test_another_target_that_was_written_is_named(small):
    consumer = small.consumer(WRONG)
    target = AllocationsOf((consumer,))
    found = small.cloud.placement.holding(consumer).generation
    assert reasons(VersionIs(target, {consumer: found}), small.cloud) == []
    [reason] = reasons(VersionIs(target, {consumer: found + 1}), small.cloud)
    assert consumer in reason


class OneDomain:
    """A hypervisor with one domain."""

    def domains(self, hosts):
        for host in hosts:
            if host == "silent":
                yield HostDomains(host, reason="no route")
            else:
                yield HostDomains(host, (Domain("i", host, "instance-1", "running", ours=True),))


@pytest.mark.parametrize(
    ("guard", "words"),
    [
        (DomainIs("h1", "i", "running"), []),
        (DomainIs("h1", "other", None), []),
        (DomainIs("h1", "i", None), ["the domain on h1 was none, it is running"]),
        (DomainIs("h1", "other", "running"), ["the domain on h1 was running, it is gone"]),
        (
            DomainIs("silent", "i", None),
            ["the hypervisor of silent does not answer: no route"],
        ),
    ],
)
def test_a_domain_in_another_state_is_named(guard, words):
    cloud = Cloud(nova=None, placement=None, hypervisors=OneDomain())
    assert reasons(guard, cloud) == words


def test_a_domain_that_cannot_be_asked_for_is_no_evidence():
    [reason] = reasons(DomainIs("h1", "i", None), Cloud(nova=None, placement=None))
    assert "--libvirt" in reason


def a_node(small: Small) -> tuple[str, str]:
    """The uuid and name of the compute node of the instance's host."""
    cell = f"nova_{small.planted[WRONG].cell}"
    [row] = small.sql(
        cell,
        "SELECT uuid, hypervisor_hostname FROM compute_nodes WHERE host = ? AND deleted = 0",
        host_of(small),
    )
    return row["uuid"], row["hypervisor_hostname"]


def test_a_service_that_was_enabled_or_disabled_since_is_named(small):
    host, cell = host_of(small), f"nova_{small.planted[WRONG].cell}"
    guard = ServiceSetting(cell_of(small), host, disabled=True)
    small.sql(cell, "UPDATE services SET disabled = 1")
    assert reasons(guard, small.cloud) == []
    small.sql(cell, "UPDATE services SET disabled = 0")
    words = f"the compute service of {host} was disabled, it is enabled"
    assert reasons(guard, small.cloud) == [words]
    small.sql(cell, "DELETE FROM services")
    assert reasons(guard, small.cloud) == [f"the compute service of {host} is gone"]


def test_host_aggregates_that_changed_since_are_named(small):
    host = host_of(small)
    rows = small.sql(
        "nova_api",
        "SELECT uuid FROM aggregates JOIN aggregate_hosts ON aggregate_id = aggregates.id"
        " WHERE host = ? ORDER BY uuid",
        host,
    )
    guard = AggregatesOfHost(host, tuple(row["uuid"] for row in rows))
    assert reasons(guard, small.cloud) == []
    other = AggregatesOfHost(host, (*guard.aggregates, "another"))
    words = [f"the host aggregates of {host} are not what they were"]
    assert reasons(other, small.cloud) == words


def test_a_pool_that_shares_by_an_aggregate_is_named(small):
    """As one that joined it after the plan was made."""
    aggregate = "41111111-2222-4333-8444-555555555555"
    guard = NotShared((aggregate, "51111111-2222-4333-8444-555555555555"))
    body = {"name": "pool", "uuid": "61111111-2222-4333-8444-555555555555"}
    path = f"/resource_providers/{body['uuid']}"
    assert small.call("POST", "/resource_providers", body).status_code == 200
    for generation, content in enumerate(
        ({"aggregates": [aggregate]}, {"traits": ["MISC_SHARES_VIA_AGGREGATE"]})
    ):
        assert reasons(guard, small.cloud) == []
        [part] = content
        body = {"resource_provider_generation": generation, **content}
        assert small.call("PUT", f"{path}/{part}", body).status_code == 200
    [words] = reasons(guard, small.cloud)
    assert words.startswith("pool shares its resources through an aggregate")
    assert reasons(NotShared(guard.aggregates[1:]), small.cloud) == []


def test_a_compute_node_that_is_gone_is_named(small):
    host, (uuid, _) = host_of(small), a_node(small)
    guard = NodeIs(cell_of(small), host, uuid)
    assert reasons(guard, small.cloud) == []
    assert reasons(NodeIs(guard.cell, "other", uuid), small.cloud) != []
    small.sql(f"nova_{small.planted[WRONG].cell}", "UPDATE compute_nodes SET deleted = id")
    assert reasons(guard, small.cloud) == [f"compute node {uuid} of {host} is gone"]


def test_a_compute_node_or_service_that_came_back_is_named(small):
    host, (uuid, name), cell = host_of(small), a_node(small), cell_of(small)
    where = small.planted[WRONG].cell
    guard = NodeGone(uuid, name, cell, host)
    assert reasons(guard, small.cloud) == [
        f"{where} has the compute node {name} again",
        f"{where} has a compute service of {host} again",
    ]
    small.sql(f"nova_{where}", "UPDATE compute_nodes SET deleted = id WHERE uuid = ?", uuid)
    small.sql(f"nova_{where}", "UPDATE services SET deleted = id WHERE host = ?", host)
    assert reasons(guard, small.cloud) == []


def test_a_namesake_matters_only_where_a_name_is_given(small):
    """A host that was made again has a new compute node, and may have kept its name."""
    (uuid, name), cell = a_node(small), cell_of(small)
    former = MIGRATION
    assert reasons(NodeGone(former, "", cell, ""), small.cloud) == []
    assert len(reasons(NodeGone(former, name, cell, ""), small.cloud)) == 1
    again = f"{small.planted[WRONG].cell} has the compute node {uuid} again"
    assert reasons(NodeGone(uuid, "", cell, ""), small.cloud) == [again]


def test_the_guard_of_one_node_does_not_read_all_hosts_of_a_cell(small, monkeypatch):
    host, (uuid, name), cell = host_of(small), a_node(small), cell_of(small)

    def every_host(*_: object) -> None:
        raise AssertionError("all hosts of a cell are read")

    monkeypatch.setattr(type(small.cloud.nova), "hosts", every_host)
    assert reasons(NodeIs(cell, host, uuid), small.cloud) == []
    assert len(reasons(NodeGone(uuid, name, cell, host), small.cloud)) == 2
    assert len(reasons(NodeGone(uuid, name, cell, ""), small.cloud)) == 1


def test_whoever_is_on_a_host_or_moves_from_it_is_named(small):
    said = reasons(HostEmpty("compute-01"), small.cloud)
    assert any(one.startswith("instance ") and one.endswith("is on compute-01") for one in said)
    said = [one for one in said if one.startswith("the status of resize ")]
    assert any(one.endswith(" is finished") for one in said)
    small.sql("nova_cell1", "UPDATE instances SET deleted = id WHERE host = 'compute-01'")
    small.sql("nova_cell1", "UPDATE migrations SET status = 'confirmed'")
    assert reasons(HostEmpty("compute-01"), small.cloud) == []


def test_an_instance_or_a_build_request_of_this_uuid_is_named(small):
    uuid = small.consumer(WRONG)
    [reason] = reasons(NoInstance(uuid), small.cloud)
    assert reason.endswith(f"has an instance or a migration {uuid}")
    assert reasons(NoInstance(MIGRATION), small.cloud) == []


def test_an_agent_that_came_back_is_named(small):
    rows = [
        NetworkAgent("one", "Open vSwitch agent", alive=False),
        NetworkAgent("two", "NIC Switch agent", alive=True),
    ]
    guard = AgentsDown("h1")
    neutron = SimpleNamespace(agents=lambda host: rows if host == "h1" else [])
    asked = replace(small.cloud, neutron=neutron)
    assert reasons(guard, asked) == ["NIC Switch agent two of h1 is alive"]
    assert reasons(AgentsDown("h2"), asked) == []
    [reason] = reasons(guard, replace(small.cloud, neutron=None))
    assert reason.startswith("Neutron is not configured")


def other_cell(small: Small) -> str:
    return "cell2" if small.planted[WRONG].cell == "cell1" else "cell1"


def copied_to_other_cell(small: Small) -> None:
    """The instance's row appears in another cell, as when a backup is restored there."""
    found = small.sql(
        f"nova_{small.planted[WRONG].cell}",
        "SELECT * FROM instances WHERE uuid = ?",
        small.consumer(WRONG),
    )
    row = {name: value for name, value in found[0].items() if name != "id"}
    small.sql(
        f"nova_{other_cell(small)}",
        f"INSERT INTO instances ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        *row.values(),
    )


def refused(small: Small, plan: Plan) -> str:
    """Why its one step is refused; nothing is written."""
    before = small.rows()
    [outcome] = small.apply(plan).values()
    assert outcome.result == "refused"
    assert small.rows() == before
    return in_words(outcome.reason)


def test_an_instance_that_another_cell_has_too_is_named(small):
    plan = small.plan(WRONG)
    copied_to_other_cell(small)
    other = next(one for one in small.cloud.nova.cells() if one.name == other_cell(small))
    assert refused(small, plan).startswith(f"cell {other.uuid} has the instance too")
    small.sql(f"nova_{other.name}", "UPDATE instances SET deleted = id")
    assert [one.result for one in small.apply(plan).values()] == ["done"], "a deleted row is none"


def test_a_cell_that_was_mapped_since_is_asked_too(small):
    [mapping] = small.sql(
        "nova_api", "SELECT * FROM cell_mappings WHERE name = ?", other_cell(small)
    )
    small.sql("nova_api", "DELETE FROM cell_mappings WHERE name = ?", other_cell(small))
    plan = small.plan(WRONG)
    copied_to_other_cell(small)
    small.sql(
        "nova_api",
        f"INSERT INTO cell_mappings ({', '.join(mapping)}) "
        f"VALUES ({', '.join('?' * len(mapping))})",
        *mapping.values(),
    )
    assert "has the instance too" in refused(small, plan)


@pytest.mark.parametrize(("number", "words"), [("?", "names that cell"), ("NULL", "no cell")])
def test_an_instance_that_is_mapped_to_another_cell_is_named(small, number, words):
    plan = small.plan(WRONG)
    name = other_cell(small)
    [row] = small.sql("nova_api", "SELECT id FROM cell_mappings WHERE name = ?", name)
    small.sql(
        "nova_api",
        f"UPDATE instance_mappings SET cell_id = {number} WHERE instance_uuid = ?",
        *([row["id"]] if number == "?" else []),
        small.consumer(WRONG),
    )
    assert words in refused(small, plan)


def test_another_cell_that_is_silent_forbids_nothing_and_is_asked_once(small, monkeypatch):
    """As when a plan is made: the mapping says which cell has the instance."""
    plan = small.plan(WRONG)
    (small.folder / f"nova_{other_cell(small)}.sqlite").unlink()
    asked: list[str] = []
    lookup = NovaDatabases.lookup

    def noted(nova: NovaDatabases, cell: NovaCell, *rest: Any, **more: Any) -> CellContents:
        asked.append(cell.name)
        return lookup(nova, cell, *rest, **more)

    monkeypatch.setattr(NovaDatabases, "lookup", noted)
    assert [one.result for one in small.apply(plan).values()] == ["done"]
    [guard] = [one for one in plan.steps[0].guards if isinstance(one, InstanceState)]
    assert reasons(guard, small.cloud) == []
    assert asked.count(other_cell(small)) == 1
