# SPDX-License-Identifier: Apache-2.0
"""Three ways to the same ledger, and which pool shares with whom."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from keystoneauth1 import adapter, session, token_endpoint

from tests.clouds import damage
from tests.placement.client import UUID, Client
from trueup.lab.serving import serve
from trueup.placement.app import PlacementApplication, make_app
from trueup.reconcile.clock import now
from trueup.reconcile.facts import JUDGED_TRAITS, PORT_TRAITS, Owner
from trueup.reconcile.sources.placement import documents
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.sources.placement.contract import Ledger
from trueup.reconcile.sources.placement.database import PlacementDatabase

SHARES = ("MISC_SHARES_VIA_AGGREGATE",)
HOST, NESTED, POOL, LONELY, OTHER = map(UUID, range(1, 6))


def is_judged(trait: str) -> bool:
    return trait in JUDGED_TRAITS or trait.startswith(PORT_TRAITS)


def fill(client: Client) -> None:
    """A host with a nested provider, a pool it shares, a pool of nobody, another host."""
    client.make_provider(1, inventories={"VCPU": 8, "MEMORY_MB": 64}, aggregates=(90,))
    client.make_provider(2, 1, inventories={"VGPU": 4})
    client.make_provider(3, inventories={"DISK_GB": 90}, traits=SHARES, aggregates=(90, 91))
    client.make_provider(4, inventories={"DISK_GB": 90}, traits=SHARES, aggregates=(92,))
    client.make_provider(
        5,
        traits=("OWNER_NOVA",),
        inventories={"VCPU": {"total": 8, "reserved": 1, "allocation_ratio": 1.5, "max_unit": 4}},
    )
    client.claim(11, {1: {"VCPU": 2, "MEMORY_MB": 16}, 2: {"VGPU": 1}, 3: {"DISK_GB": 4}})
    client.claim(12, {5: {"VCPU": 3}})
    client.claim(13, {5: {"VCPU": 1}})


def over_http(url: str, read_via: str) -> Ledger:
    connected = session.Session(auth=token_endpoint.Token(url, "admin"), timeout=10)
    placement = Placement(adapter.Adapter(connected, service_type="placement"))
    ledger = placement.ledger(lambda *_: None)
    assert ledger.read_via == read_via
    return ledger


def from_database(url: str) -> Ledger:
    database = PlacementDatabase(url)
    ledger = database.ledger()
    database.close()
    assert ledger.read_via == "database"
    return ledger


def service(url: str) -> PlacementApplication:
    options = {"sync_on_startup": True}
    return make_app(url, {"api": {"auth_strategy": "noauth2"}, "placement_database": options})


@pytest.fixture
def filled(database_url: str) -> str:
    """A database with a ledger, on each kind of server."""
    with closing(service(database_url)) as application:
        fill(Client(application))
    return database_url


@pytest.fixture
def small(tmp_path: Path) -> str:
    """The same on SQLite alone."""
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    with closing(service(url)) as application:
        fill(Client(application))
    return url


def three_ways(url: str) -> list[Ledger]:
    """The ledger by the API, as upstream has it, by our export, and from the database."""
    with closing(service(url)) as application:
        with serve(without_export(application)) as plain:
            by_api = over_http(plain, "API")
        with serve(application) as whole:
            exported = over_http(whole, "export")
    # Only a database shows the faults and the times of its rows.
    every = (by_api, exported, from_database(url))
    return [replace(one, read_via="", faults=(), written={}) for one in every]


def untagged(ledger: Ledger) -> Ledger:
    """The same with what is read over the API: judged traits, no aggregates and no owners."""
    providers = {
        uuid: replace(row, traits=frozenset(filter(is_judged, row.traits or ())), aggregates=None)
        for uuid, row in ledger.providers.items()
    }
    return replace(ledger, providers=providers, owners=None)


def without_export(application: Callable) -> Callable:
    """As a service that does not offer it."""

    def answer(environ, start_response):
        if environ["PATH_INFO"] == "/trueup/export":
            start_response("404 Not Found", [])
            return [b""]
        return application(environ, start_response)

    return answer


def test_all_three_ways_give_equal_facts(filled):
    by_api, exported, from_rows = three_ways(filled)
    assert exported == from_rows
    assert by_api == untagged(exported)
    assert exported.owners == dict.fromkeys(map(UUID, (11, 12, 13)), Owner("a-project", "a-user"))
    assert exported.providers[POOL].traits == {*SHARES}
    assert exported.providers[POOL].aggregates == {UUID(90), UUID(91)}
    assert exported.providers[NESTED].aggregates == frozenset()
    assert by_api.providers[NESTED].parent == by_api.providers[NESTED].root == HOST
    assert by_api.providers[POOL].shares_with == {HOST}
    assert (by_api.providers[LONELY].sharing, by_api.providers[LONELY].shares_with) == (
        True,
        frozenset(),
    )
    stock = by_api.providers[OTHER].inventories["VCPU"]
    assert (stock.capacity, stock.min_unit, stock.max_unit, stock.step_size) == (10, 1, 4, 1)
    assert by_api.consumers[UUID(11)] == {
        HOST: {"VCPU": 2, "MEMORY_MB": 16},
        NESTED: {"VGPU": 1},
        POOL: {"DISK_GB": 4},
    }


def test_a_database_tells_when_an_allocation_of_a_provider_was_written_last(database_url):
    with closing(service(database_url)) as application:
        before = now().replace(microsecond=0)
        fill(Client(application))
    written = from_database(database_url).written
    held = {uuid for amounts in from_database(database_url).consumers.values() for uuid in amounts}
    assert written.keys() == held
    assert all(before <= moment <= now() for moment in written.values())
    later = before + timedelta(days=1)
    damage.execute(
        database_url,
        f"UPDATE allocations SET updated_at = '{later}' WHERE resource_provider_id = "
        f"(SELECT id FROM resource_providers WHERE uuid = '{HOST}')",
    )
    assert from_database(database_url).written == written | {HOST: later}
    with closing(PlacementDatabase(database_url)) as database:
        assert database.written([HOST, UUID(404)]) == {HOST: later}


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM consumers WHERE uuid = '{consumer}'",
        "UPDATE consumers SET user_id = 999 WHERE uuid = '{consumer}'",
        "DELETE FROM inventories",
        "DELETE FROM allocations",
        "UPDATE resource_providers SET root_provider_id = NULL WHERE uuid = '{other}'",
        "UPDATE placement_aggregates SET uuid = 'no-uuid' WHERE uuid = '{aggregate}'",
    ],
)
def test_also_of_a_ledger_that_is_broken(small, harm):
    damage.execute(small, harm.format(consumer=UUID(11), other=OTHER, aggregate=UUID(90)))
    by_api, exported, from_rows = three_ways(small)
    assert exported == from_rows
    assert by_api == untagged(exported)
    assert exported.owners is not None
    assert exported.owners.keys() == exported.consumers.keys()


@pytest.mark.parametrize(
    ("table", "owner"),
    [("projects", Owner("", "a-user")), ("users", Owner("a-project", ""))],
)
def test_an_owner_whose_row_is_gone_is_of_nobody(small, table, owner):
    damage.execute(small, f"DELETE FROM {table}")
    _, exported, from_rows = three_ways(small)
    assert exported == from_rows
    assert exported.owners == dict.fromkeys(exported.consumers, owner)


def test_an_aggregate_that_is_null_ends_nothing(small):
    """Upstream's service lists it as null, and Trueup's leaves it out; a pool shares by it."""
    damage.execute(small, f"UPDATE placement_aggregates SET uuid = NULL WHERE uuid = '{UUID(90)}'")
    _, exported, from_rows = three_ways(small)
    assert from_rows.providers[POOL].aggregates == {"", UUID(91)}
    assert from_rows.providers[POOL].shares_with == {HOST}
    assert exported.providers.keys() == from_rows.providers.keys()
    assert documents.aggregates({"aggregates": [None, UUID(91)]}) == ("", UUID(91))


def test_consumers_of_one_owner_share_it(small):
    """There are hundreds of thousands of consumers, and few owners."""
    owners = from_database(small).owners
    assert owners is not None
    assert len({id(one) for one in owners.values()}) == 1
