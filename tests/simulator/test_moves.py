# SPDX-License-Identifier: Apache-2.0
"""What the simulator writes to its ledger for a move is what Nova's own client of Placement writes.

Random orders of all that Nova does to allocations, each by the simulator and by Nova's
SchedulerReportClient on a Placement with the same providers: after each the ledgers are equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from nova import context, objects
from nova.scheduler.client.report import SchedulerReportClient

from tests.simulator.cloud import Cloud, Server
from tests.simulator.databases import databases
from tests.simulator.places import BANDWIDTH, FLAVORS, HOSTS, without
from tests.simulator.reporting import seeds
from tests.simulator.rows import PROJECT, USER, Amounts, uuid_of
from trueup.lab.placement_client import ADMIN_TOKEN

MIGRATION = uuid_of("a migration of web")
LENGTH = 12
KILOBITS = 1000
# Each move begins with what the last one left; so there is no need of many.
SHARE = 10


@dataclass
class Both:
    """The simulator's cloud and Nova's client, with one server."""

    cloud: Cloud
    client: SchedulerReportClient
    server: Server

    @property
    def admin(self) -> context.RequestContext:
        return context.get_admin_context()

    def claim(self, rng: Random) -> None:
        host = HOSTS[rng.choice(("h1", "h2", "h4", "h5"))]
        wanted = self.cloud.claim_of(self.server, host)
        request = {"allocations": {uuid: {"resources": row} for uuid, row in wanted.items()}}
        assert self.client.claim_resources(
            self.admin, self.server.uuid, request, PROJECT, USER, "1.36"
        )
        self.cloud.claim(self.server, host)

    def move(self, giver: str, taker: str) -> None:
        if self.cloud.held(giver):
            self.client.move_allocations(self.admin, giver, taker)
            self.cloud.hand_over(giver, taker)

    def release_tree(self, rng: Random) -> None:
        """As nova-compute when it comes back after an evacuation: with what it holds elsewhere."""
        host = HOSTS[rng.choice(("h1", "h2", "h4", "h5"))]
        if without(self.cloud.held(self.server.uuid), host.tree):
            self.client.remove_provider_tree_from_instance_allocation(
                self.admin, self.server.uuid, host.root
            )
            self.cloud.release_tree(self.server, host)

    def delete(self, consumer: str, kind: str) -> None:
        self.client.delete_allocation_for_instance(self.admin, consumer, kind, force=True)
        self.cloud.hold(consumer, {})

    def attach(self, rng: Random) -> None:
        """Of the card of a host that it holds, as attach_interface does it."""
        held = self.cloud.held(self.server.uuid)
        here = [host for host in HOSTS.values() if host.root in held]
        if here:
            card = rng.choice(here).card
            more = {card: {"resources": {BANDWIDTH: KILOBITS}}}
            self.client.add_resources_to_instance_allocation(self.admin, self.server.uuid, more)
            self.cloud.write(**{self.server.uuid: _with(held, card)})

    def ledger(self) -> dict[str, Amounts]:
        """What both consumers hold, as Nova reads it."""
        found = {}
        for consumer in (self.server.uuid, MIGRATION):
            rows = self.client.get_allocs_for_consumer(self.admin, consumer)["allocations"]
            found[consumer] = {uuid: dict(row["resources"]) for uuid, row in rows.items()}
        return found


def _with(held: Amounts, card: str) -> Amounts:
    amount = held.get(card, {}).get(BANDWIDTH, 0) + KILOBITS
    return {**held, card: {BANDWIDTH: amount}}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchedulerReportClient]:
    objects.register_all()
    with databases(tmp_path_factory.mktemp("moves")) as made:
        [line] = [row for row in made.nova_conf.read_text().splitlines() if "endpoint" in row]
        session = Session(Token(line.partition(" = ")[2], ADMIN_TOKEN))
        yield SchedulerReportClient(Adapter(session, service_type="placement", raise_exc=False))


def write(both: Both, rng: Random) -> None:
    """One write that some operation of Nova makes, where it is possible."""
    uuid = both.server.uuid
    match rng.choice("ccmrtdxa"):
        case "c":
            both.claim(rng)
        case "m":
            both.move(uuid, MIGRATION)
        case "r":
            both.move(MIGRATION, uuid)
        case "t":
            both.release_tree(rng)
        case "d":
            both.delete(uuid, "instance")
        case "x":
            both.delete(MIGRATION, "migration")
        case "a":
            both.attach(rng)


def test_each_write_of_a_move_is_novas(client):
    for seed in list(seeds())[::SHARE]:
        rng = Random(seed)
        cloud, server = Cloud(), Server("web", rng.choice((FLAVORS["small"], FLAVORS["swapping"])))
        cloud.servers["web"] = server
        both = Both(cloud, client, server)
        for _ in range(LENGTH):
            write(both, rng)
            simulated = {one: dict(cloud.held(one)) for one in (server.uuid, MIGRATION)}
            assert both.ledger() == simulated, f"seed {seed}"
        both.delete(server.uuid, "instance")
        both.delete(MIGRATION, "migration")
