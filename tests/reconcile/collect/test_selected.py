# SPDX-License-Identifier: Apache-2.0
"""Of what is selected every way of reading gives the same facts."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest

from tests.reconcile.small import Small
from tests.reconcile.test_collect import quiet
from trueup.lab.nova.databases import sqlite_url
from trueup.reconcile.audit import audit
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import EVERYTHING, Selection, SelectionUnknown, chosen
from trueup.reconcile.facts import Coverage, Domain, Facts, Port, PortRequestGroup
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.libvirt import HostDomains
from trueup.reconcile.sources.notes import NOTHING_NOTED, Noted
from trueup.reconcile.sources.placement.contract import LedgerLookup
from trueup.reconcile.sources.placement.database import PlacementDatabase
from trueup.reconcile.sources.placement.loaded import LoadedLedger
from trueup.reconcile.verdicts import AuditOptions

NIC, POOL = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"
AGGREGATE = "31111111-2222-4333-8444-555555555555"
STRANGER = "41111111-2222-4333-8444-555555555555"
MOVE = "51111111-2222-4333-8444-555555555555"
STOCK = {"total": 100, "reserved": 0, "min_unit": 1, "max_unit": 100, "step_size": 1}
STOCK |= {"allocation_ratio": 1.0}


@dataclass(frozen=True)
class Way:
    """A Placement that is read in one way, whatever it is asked for."""

    asked: LedgerLookup

    def lookup(self, requests: int, hosts: int, progress: Callable) -> LedgerLookup:
        return self.asked

    def noted(self) -> Noted:
        return NOTHING_NOTED


class Ports:
    """A Neutron where each instance has a port that asks for something."""

    def __init__(self, devices: Iterable[str]) -> None:
        request = (PortRequestGroup("g", (), {"NET_BW_EGR_KILOBIT_PER_SEC": 1}),)
        self.every = [Port(f"of {one}", one, "", request_groups=request) for one in devices]

    def offered(self) -> bool:
        return True

    def ports(self, counted: Callable, devices: Iterable[str] | None) -> tuple[Port, ...]:
        wanted = None if devices is None else frozenset(devices)
        return tuple(one for one in self.every if wanted is None or one.device in wanted)


class Domains:
    """Hypervisors with one domain each."""

    def domains(self, hosts: Iterable[str]) -> Iterator[HostDomains]:
        return (HostDomains(one, (Domain(one, one, "a", "running", True),)) for one in hosts)


def only(**names: str) -> Selection:
    return Selection(**{kind: frozenset([name]) for kind, name in names.items()})


def furnished(small: Small) -> Small:
    """With a pool that two hosts share, a provider in a host, and a stranger that holds of both."""
    first, second, *_ = (
        row["uuid"] for row in small.sql("placement", "SELECT uuid FROM resource_providers")
    )
    made = ((NIC, {"parent_provider_uuid": first}, "SRIOV_NET_VF"), (POOL, {}, "DISK_GB"))
    for uuid, more, name in made:
        small.call("POST", "/resource_providers", {"uuid": uuid, "name": uuid[:4]} | more)
        stock = {"resource_provider_generation": 0, "inventories": {name: STOCK}}
        assert small.call("PUT", f"/resource_providers/{uuid}/inventories", stock).ok
    shares = {"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    assert small.call("PUT", f"/resource_providers/{POOL}/traits", shares).ok
    for uuid in (first, second, POOL):
        now = small.call("GET", f"/resource_providers/{uuid}").json()["generation"]
        body = {"resource_provider_generation": now, "aggregates": [AGGREGATE]}
        assert small.call("PUT", f"/resource_providers/{uuid}/aggregates", body).ok
    held = {NIC: {"resources": {"SRIOV_NET_VF": 1}}, POOL: {"resources": {"DISK_GB": 1}}}
    owner = {"project_id": "p", "user_id": "u", "consumer_generation": None}
    assert small.call("PUT", f"/allocations/{STRANGER}", {"allocations": held} | owner).ok
    return small


def with_a_move_of_a_deleted_instance(small: Small, how: str) -> str:
    """Delete an instance that holds nothing, a migration of which holds something."""
    consumer, at = small.consumer("missing-allocation"), "2026-11-20 12:00:00"
    small.change_instance("missing-allocation", deleted=1, deleted_at=at)
    cell = f"nova_{small.planted['missing-allocation'].cell}"
    table = "shadow_migrations" if how == "archived" else "migrations"
    # Nova deletes the migrations of an instance with it.
    deleted = 0 if how == "by hand" else 7
    small.sql(
        cell,
        f"INSERT INTO {table} (uuid, instance_uuid, migration_type, status, deleted,"
        " source_compute, source_node, created_at, updated_at)"
        " VALUES (?, ?, 'live-migration', 'running', ?, ?, ?, ?, ?)",
        *(MOVE, consumer, deleted, "node-1", "node-1", at, at),
    )
    if how == "by hand":
        small.sql(cell, "UPDATE migrations SET status = 'error' WHERE uuid = ?", MOVE)
    provider = small.planted["missing-allocation"].provider_uuid
    owner = {"project_id": "p", "user_id": "u", "consumer_generation": None}
    body = {"allocations": {provider: {"resources": {"VCPU": 1}}}} | owner
    assert small.call("PUT", f"/allocations/{MOVE}", body).ok
    return consumer


@contextmanager
def ways_of(small: Small) -> Iterator[dict[str, Cloud]]:
    """The same cloud, its Placement read over the API, as a whole, and from its database."""
    cloud = small.cloud
    database = PlacementDatabase(sqlite_url(small.folder / "placement.sqlite"))
    with closing(database):
        parts = {
            "API": cloud.placement.lookup(0, 0, quiet),
            "whole": LoadedLedger(cloud.placement.ledger(lambda *_: None)),
            "database": database,
        }
        yield {way: replace(cloud, placement=Way(one)) for way, one in parts.items()}


def each_of(facts: Facts) -> list[Selection]:
    """Names of every kind."""
    projects = {row.project for row in facts.instances}
    return [
        only(consumers=STRANGER),
        *(only(consumers=uuid) for uuid in sorted(facts.consumers.keys() - facts.alive.keys())),
        *(only(instances=uuid) for uuid in sorted(facts.alive)[::3]),
        *(only(hosts=row.host) for row in facts.compute_nodes),
        *(only(providers=row.name) for row in facts.providers.values()),
        *(only(providers=uuid) for uuid in (NIC, POOL)),
        *(only(cells=name) for name in facts.cells.values()),
        *(only(projects=project) for project in sorted(projects)),
    ]


def some_together(facts: Facts) -> list[Selection]:
    """Two kinds at once."""
    alive = sorted(facts.alive.values(), key=lambda row: row.uuid)[::8]
    hosts = [row.host for row in facts.compute_nodes][::3]
    cells = sorted(facts.cells.values())[1:]
    return [
        *(only(instances=row.uuid, hosts=host) for row, host in product(alive, hosts)),
        *(only(hosts=host, projects=row.project) for row, host in product(alive[:2], hosts)),
        *(only(cells=cell, projects=row.project) for row, cell in product(alive, cells)),
        *(only(instances=row.uuid, cells=cell) for row, cell in product(alive, cells)),
        *(only(hosts=host, providers=POOL) for host in hosts),
        *(only(hosts=host, cells=cell) for host, cell in product(hosts, cells)),
    ]


def bare(facts: Facts) -> dict[str, object]:
    """Facts without their moment, coverage, traits, aggregates and owners, in one order."""
    reported = {}
    for name in facts.__dataclass_fields__:
        value = getattr(facts, name)
        reported[name] = sorted(value, key=repr) if isinstance(value, tuple) else value
    held = facts.consumers.keys()
    # A deleted instance that holds nothing is only read where it is named.
    living = (row for row in facts.instances if not row.deleted or row.uuid in held)
    return reported | {
        "taken_at": None,
        # Known only of who is selected.
        "specs": {},
        "coverage": Coverage(()),
        # Not read over Placement's API, or not of a whole cloud.
        "owners": {},
        "ledger_writes": {},
        "providers": {
            uuid: replace(row, traits=None, aggregates=None)
            for uuid, row in facts.providers.items()
        },
        "instances": sorted(living, key=repr),
    }


def check_every_way(small: Small, which: Callable[[Facts], list[Selection]]) -> None:
    devices = collect(small.cloud, quiet).alive
    others = {"neutron": Ports(devices), "hypervisors": Domains()}
    whole = collect(replace(small.cloud, **others), quiet)
    assert whole.ports
    assert whole.domains
    with ways_of(small) as ways:
        for selection in which(whole):
            expected = bare(chosen(whole, selection))
            for way, cloud in ways.items():
                part = collect(replace(cloud, **others), quiet, selection)
                assert bare(part) == expected, (way, selection)
                assert_owners(part, ways["database"].placement.asked)


def assert_owners(part: Facts, database: LedgerLookup) -> None:
    """They are read of everyone, or it is said that they are not."""
    truth = database.owners(part.consumers)
    assert truth.keys() == part.consumers.keys()
    assert part.owners == (truth if part.has("owners") else {})


def test_every_way_gives_the_facts_that_the_whole_cloud_has_of_it(on_both):
    check_every_way(furnished(on_both), each_of)


@pytest.mark.parametrize("how", ["by hand", "by Nova", "archived"])
def test_also_what_a_migration_of_a_deleted_instance_holds(small, how):
    uuid = with_a_move_of_a_deleted_instance(small, how)
    whole = collect(small.cloud, quiet)
    project = whole.deleted[uuid].project
    names = (only(projects=project), only(consumers=MOVE), only(instances=uuid))
    check_every_way(small, lambda _: [*names])
    for facts in (whole, *(collect(small.cloud, quiet, one) for one in names)):
        reported = audit(facts, AuditOptions()).findings
        assert (uuid, (MOVE,)) in [(one.subject.uuid, one.consumers) for one in reported]


def test_also_where_several_kinds_are_selected(small):
    check_every_way(furnished(small), some_together)


@dataclass(frozen=True)
class Running:
    """Hypervisors of which one still runs the guest of this instance."""

    uuid: str
    host: str

    def domains(self, hosts: Iterable[str]) -> Iterator[HostDomains]:
        guest = Domain(self.uuid, self.host, "instance-1", "running", True)
        return (HostDomains(one, (guest,) if one == self.host else ()) for one in hosts)


def test_the_guest_of_a_deleted_instance_is_asked_for(small):
    """Nothing is released while its guest runs, also if only that instance is named."""
    uuid, host = small.consumer("orphaned-allocation"), small.planted["orphaned-allocation"].host
    with ways_of(small) as ways:
        looks = [(small.cloud, EVERYTHING)]
        looks += [(cloud, only(instances=uuid)) for cloud in ways.values()]
        for cloud, selection in looks:
            asked = replace(cloud, hypervisors=Running(uuid, host))
            found = audit(collect(asked, quiet, selection), AuditOptions())
            assert uuid in {row.subject.uuid for row in found.unchecked}
            about = {row.defect for row in found.findings if row.subject.uuid == uuid}
            assert about == {"ghost-domain"}


def test_a_cell_that_falls_silent_on_the_way_is_not_asked_again(small):
    """The cell listed its hosts, and did not answer when it was asked for what is selected."""
    host = small.sql("nova_cell2", "SELECT host FROM compute_nodes")[0]["host"]
    asked: list[str] = []

    class Falling:
        def __getattr__(self, name: str) -> Any:
            return getattr(small.cloud.nova, name)

        def instance_ids(self, cell: Any, wanted: Any) -> Any:
            if cell.name == "cell2":
                (small.folder / "nova_cell2.sqlite").unlink()
            return small.cloud.nova.instance_ids(cell, wanted)

        def instances(self, cell: Any, uuids: Any) -> Any:
            asked.append(cell.name)
            return small.cloud.nova.instances(cell, uuids)

    facts = collect(replace(small.cloud, nova=Falling()), quiet, only(hosts=host))
    assert [answer.source for answer in facts.coverage.missing] == ["cell2"]
    assert sorted(asked) == ["cell0", "cell1"]
    assert audit(facts, AuditOptions()).incomplete


def test_of_who_is_selected_request_specs_are_read_in_full(small):
    [row, *_] = small.sql("nova_api", "SELECT instance_uuid FROM request_specs")
    uuid = row["instance_uuid"]
    facts = collect(small.cloud, quiet, only(instances=uuid))
    assert facts.specs.keys() == facts.request_specs == {uuid}
    assert facts.specs[uuid].volume_backed in (True, False)
    assert collect(small.cloud, quiet).specs == {}


def test_what_a_project_cannot_be_asked_for_is_said_in_the_coverage(small):
    project = small.sql("nova_cell1", "SELECT project_id FROM instances")[0]["project_id"]
    [answer, *_] = collect(small.cloud, quiet, only(projects=project)).coverage.sources
    assert [one.what for one in answer.unsupported] == [
        "consumers of the project that are not instances"
    ]


@pytest.mark.parametrize("kind", ["instances", "hosts", "providers", "cells", "consumers"])
def test_what_nothing_knows_is_refused(small, kind):
    with pytest.raises(SelectionUnknown) as refused:
        collect(small.cloud, quiet, only(**{kind: "nobody's"}))
    assert refused.value.name == "nobody's"
