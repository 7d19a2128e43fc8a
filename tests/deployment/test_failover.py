# SPDX-License-Identifier: Apache-2.0
"""HAProxy before Galera, configured as the page says, and a writer that dies under load."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event

from sqlalchemy.engine import URL, make_url

from tests.placement.client import UUID, Client, claim
from tests.races.test_races import ON_ONE_CLUSTER
from tests.servers.databases import as_text
from tests.servers.galera import GaleraCluster
from tests.servers.haproxy import haproxy_before
from tests.servers.processes import ProgramMissing
from tests.servers.skipping import skip_without
from trueup.placement.app import PlacementApplication, make_app
from trueup.placement.store import schema

pytestmark = ON_ONE_CLUSTER

NOAUTH = {"api": {"auth_strategy": "noauth2"}}
CLIENTS, BEFORE, AFTER = 3, 10, 10
ROOM = 1000


@contextmanager
def proxied(urls: list[URL]) -> Iterator[URL]:
    try:
        with haproxy_before(urls) as url:
            yield url
    except ProgramMissing as missing:
        skip_without(str(missing))


def claims_until(
    application: PlacementApplication, number: int, enough: Event, dead: Event
) -> list[tuple[int, int]]:
    """Claim until so many were acknowledged after the death; each consumer and its status."""
    client, done, after = Client(application), [], 0
    for one in itertools.count(number * 10_000):
        was_dead = dead.is_set()
        status = client.put(f"/allocations/{UUID(one)}", claim({1: {"VCPU": 1}})).status
        done.append((one, status))
        if len(done) == BEFORE:
            enough.set()
        after += was_dead and status == 204
        if after == AFTER:
            break
    return done


def test_a_writer_that_dies_costs_503_and_no_acknowledged_claim(
    galera_cluster: GaleraCluster,
) -> None:
    galera_cluster.settle()
    writer, *others = galera_cluster.nodes
    nodes = [writer, *others]
    with others[0].server.empty_database() as database_url:
        name = make_url(database_url).database
        schema.create(database_url)
        dead, enough = Event(), Event()
        with (
            proxied([node.url for node in nodes]) as proxy,
            closing(make_app(as_text(proxy.set(database=name)), NOAUTH)) as application,
            ThreadPoolExecutor(CLIENTS) as pool,
        ):
            client = Client(application)
            client.make_provider(1, inventories={"VCPU": ROOM})
            working = [
                pool.submit(claims_until, application, number, enough, dead)
                for number in range(1, 1 + CLIENTS)
            ]
            enough.wait()
            writer.kill()
            dead.set()
            answers = [answer for one in working for answer in one.result()]
            assert {status for _, status in answers} <= {204, 503}
            held = client.get(f"/resource_providers/{UUID(1)}/allocations").json["allocations"]
            assert {UUID(one) for one, status in answers if status == 204} <= held.keys()
            used = len(held)
            for amount, expected in ((ROOM - used, 1), (ROOM - used + 1, 0)):
                asked = f"/allocation_candidates?resources=VCPU:{amount}"
                assert len(client.get(asked).json["allocation_requests"]) == expected
        galera_cluster.restart(writer)
        galera_cluster.settle()
