# SPDX-License-Identifier: Apache-2.0
"""Of a large cloud only that part is read which a selection concerns."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1 import adapter, session, token_endpoint

from tests.reconcile.collect.test_selected import Way, bare, only
from tests.reconcile.test_collect import quiet
from trueup import lab
from trueup.lab.nova.databases import sqlite_url
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.selection import chosen
from trueup.reconcile.facts import Facts
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.connect import from_nova_conf
from trueup.reconcile.sources.database import Session
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.sources.placement.database import PlacementDatabase

HOSTS, INSTANCES = 40, 120


@dataclass
class Counting:
    """An adapter that notes what is asked of Placement."""

    real: adapter.Adapter
    paths: list[str] = field(default_factory=list)

    def request(self, path: str, method: str, **options: Any) -> Any:
        self.paths.append(path)
        return self.real.request(path, method, **options)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cloud, Counting]]:
    """A cloud of many hosts, and what is asked of its Placement."""
    folder = tmp_path_factory.mktemp("large") / "cloud"
    with lab.small_cloud(folder, seed=3, hosts=HOSTS, instances=INSTANCES) as made:
        connected = session.Session(auth=token_endpoint.Token(made.placement_url, "admin"))
        counting = Counting(adapter.Adapter(connected, service_type="placement"))
        cloud = from_nova_conf(made.nova_conf)
        yield replace(cloud, placement=Placement(counting)), counting
        cloud.close()


@pytest.fixture
def whole(large: tuple[Cloud, Counting]) -> Facts:
    facts = collect(large[0], quiet)
    large[1].paths.clear()
    return facts


def asked_about(paths: list[str], facts: Facts) -> set[str]:
    """The providers that some request names."""
    return {uuid for uuid in facts.providers for path in paths if uuid in path}


def test_of_placement_only_the_trees_that_matter_are_read(large, whole):
    cloud, counting = large
    for node in whole.compute_nodes[:5]:
        counting.paths.clear()
        part = collect(cloud, quiet, only(hosts=node.host))
        near = {node.uuid} | {uuid for held in part.consumers.values() for uuid in held}
        near |= part.providers.keys()
        assert asked_about(counting.paths, whole) <= near
        assert len(near) < HOSTS / 4
        people = len(part.consumers) + len(part.alive)
        assert len(counting.paths) <= 8 + 3 * len(near) + people
        assert len(counting.paths) == len(set(counting.paths)), "nothing is asked twice"


def test_an_instance_takes_a_few_requests_however_many_hosts_there_are(large, whole):
    cloud, counting = large
    uuid = next(uuid for uuid, held in whole.consumers.items() if uuid in whole.alive)
    part = collect(cloud, quiet, only(instances=uuid))
    assert part.consumers.keys() == {uuid}
    assert len(counting.paths) <= 7


def test_what_takes_more_requests_by_parts_is_read_as_a_whole(large, whole):
    """Two cells: half of all hosts, and what is on them."""
    cloud, counting = large
    part = collect(cloud, quiet, only(cells="cell1"))
    assert bare(part) == bare(chosen(whole, only(cells="cell1")))
    assert len(counting.paths) <= 2, "the service exports its ledger in one answer"


def test_of_databases_only_the_rows_that_matter_are_read(large, whole, monkeypatch, request):
    cloud, _ = large
    counts: list[int] = []
    plain = Session.rows

    def counted(self: Session, query: Any) -> Any:
        rows = plain(self, query)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(Session, "rows", counted)
    [folder] = {Path(cell.url.removeprefix("sqlite:///")).parent for cell in cloud.nova.cells()}
    database = PlacementDatabase(sqlite_url(folder / "placement.sqlite"))
    request.addfinalizer(database.close)
    cloud = replace(cloud, placement=Way(database))
    host = whole.compute_nodes[0].host
    counts.clear()
    part = collect(cloud, quiet, only(hosts=host))
    assert bare(part) == bare(chosen(whole, only(hosts=host)))
    # Nodes, services, mappings and providers of all hosts (a broken tree may be anywhere), their
    # aggregates; the classes Placement knows; one instance of each cell, as proof that it has some.
    of_hosts = 4 * HOSTS + sum(len(one.hosts) for one in whole.host_aggregates)
    of_people = 15 * (len(part.consumers) + len(part.instances))
    assert sum(counts) <= of_hosts + of_people + 60 + len(whole.cells)
    assert len(part.instance_mappings) == len(part.alive.keys() | part.deleted.keys())
