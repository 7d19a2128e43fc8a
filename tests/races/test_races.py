# SPDX-License-Identifier: Apache-2.0
"""Whichever two write requests meet, the ledger is whole afterwards (invariants 1 and 2)."""

import os
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.races.arena import Arena
from tests.races.players import players
from tests.races.rounds import Match, shuffled
from tests.races.writes import WRITES
from tests.servers.galera import GaleraCluster
from tests.servers.placement import NOAUTH
from trueup.placement.api.routes import ROUTES
from trueup.placement.app import make_app

# Or each worker of the test run would start a cluster of its own.
ON_ONE_CLUSTER = pytest.mark.xdist_group("galera")
ROUNDS = int(os.environ.get("TRUEUP_ROUNDS", "120"))
REPEATED = max(8, ROUNDS // 50)
SETTINGS = {**NOAUTH, "placement_database": {"sync_on_startup": True}}
KNOWN = (
    # A child that comes, or goes elsewhere, while what is above it is moved.
    ("add below leaf", "move middle below twig"),
    ("add below twig", "move twig below empty"),
    ("move root below empty", "make leaf a root"),
    ("move middle below twig", "move root below empty"),
    # Each below the other.
    ("move middle below twig", "move other below leaf"),
    # Of these, Galera sees no two that write the same row.
    ("delete the free class", "add an inventory of the free class"),
    ("delete the free class", "write all inventories of empty"),
    ("rename the free class", "delete the free class"),
    ("delete the free trait", "give empty the free trait"),
    ("delete empty", "put empty into an aggregate, without a generation"),
    ("delete empty", "add below empty"),
    ("delete empty", "move twig below empty"),
    # What is seen for the first time: a project, a consumer type.
    ("claim what is left of root", "claim of root and twig"),
)
"""Pairs that did harm once, or that look as if they could."""


@pytest.fixture(params=["mariadb", "postgresql", pytest.param("galera", marks=ON_ONE_CLUSTER)])
def ways_in(request: pytest.FixtureRequest) -> Iterator[Sequence[str]]:
    """Where two workers find one ledger: on one server, or at two nodes of a cluster."""
    if request.param == "galera":
        cluster: GaleraCluster = request.getfixturevalue("galera_cluster")
        with cluster.nodes[0].server.empty_database() as url:
            make_app(url, SETTINGS).close()
            yield cluster.urls(url)[:2]
    else:
        fresh_database: Callable[[str], str] = request.getfixturevalue("fresh_database")
        url = fresh_database(request.param)
        make_app(url, SETTINGS).close()
        yield url, url


def faults_of(match: Match, ways_in: Sequence[str]) -> str:
    match.prepare(ways_in[0])
    with players(ways_in) as two:
        answers = two.play(match.hands())
    return "\n".join([*match.unexpected(answers), *match.broken(ways_in[0])])


def test_every_write_has_met_every_other_one(ways_in: Sequence[str]) -> None:
    """In `make test` some of the pairs, in `make conformance` all of them several times."""
    assert faults_of(shuffled(ROUNDS), ways_in) == ""


def test_pairs_that_did_harm_do_none(ways_in: Sequence[str]) -> None:
    assert faults_of(Match(KNOWN * REPEATED), ways_in) == ""


def test_no_write_request_of_the_api_is_left_out() -> None:
    sent = {
        (call.method, "/".join(call.path.split("/")[1:2] + call.path.split("/")[3:4]))
        for call in (write(Arena(0)) for write in WRITES.values())
    }
    routed = {
        (route.method, "/".join(route.url.split("/")[1:2] + route.url.split("/")[3:4]))
        for route in ROUTES
        if route.method != "GET"
    }
    assert routed <= sent
