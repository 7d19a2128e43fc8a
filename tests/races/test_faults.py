# SPDX-License-Identifier: Apache-2.0
"""Nodes that die, stand still or are cut off while requests meet: what is left is whole."""

import os
from collections.abc import Callable
from contextlib import ExitStack

import pytest
import sqlalchemy

from tests.deployment.relay import Relay, relay_to
from tests.deployment.schemas import rows_of
from tests.races.players import players
from tests.races.rounds import shuffled
from tests.races.test_races import ON_ONE_CLUSTER, SETTINGS
from tests.servers.galera import GaleraCluster, GaleraNode
from tests.servers.processes import poll
from trueup.placement.app import make_app

ROUNDS = min(int(os.environ.get("TRUEUP_ROUNDS", "150")), 3000)
SECONDS_TO_BE_MISSED = 30

pytestmark = ON_ONE_CLUSTER


def kill(cluster: GaleraCluster, node: GaleraNode, _relay: Relay) -> None:
    node.kill()
    cluster.restart(node)


def freeze(cluster: GaleraCluster, node: GaleraNode, _relay: Relay) -> None:
    node.freeze()
    try:
        _wait_until_missed(cluster, node)
    finally:
        node.thaw()


def isolate(cluster: GaleraCluster, node: GaleraNode, _relay: Relay) -> None:
    """The other nodes go on without it, and it refuses to serve alone."""
    node.isolate()
    try:
        _wait_until_missed(cluster, node)
    finally:
        node.rejoin()


def cut(_cluster: GaleraCluster, _node: GaleraNode, relay: Relay) -> None:
    """The worker loses its connections in the middle of whatever it says."""
    for _ in range(5):
        relay.cut()
        relay.mend()


@pytest.mark.parametrize("fault", [kill, freeze, isolate, cut])
def test_whatever_happens_to_a_node_the_ledger_is_whole(
    galera_cluster: GaleraCluster, fault: Callable[[GaleraCluster, GaleraNode, Relay], None]
) -> None:
    steady, harmed = galera_cluster.nodes[:2]
    match = shuffled(ROUNDS)
    with ExitStack() as stack:
        url = stack.enter_context(steady.server.empty_database())
        make_app(url, SETTINGS).close()
        match.prepare(url)
        relay = stack.enter_context(relay_to(harmed.ports.clients))
        two = stack.enter_context(players([url, at_port(url, relay.port)]))
        two.deal(match.hands(), in_step=False)
        fault(galera_cluster, harmed, relay)
        answers = two.results()
        galera_cluster.settle()
        faults = [*match.lost(url, answers), *match.broken(url)]
        assert "\n".join(faults) == ""
        first, *others = (rows_of(up_to_date(one)) for one in galera_cluster.urls(url))
        assert all(other == first for other in others)


def at_port(url: str, port: int) -> str:
    return sqlalchemy.make_url(url).set(port=port).render_as_string(hide_password=False)


def up_to_date(url: str) -> str:
    """The same node, which first applies what the others had acknowledged."""
    return f"{url}?init_command=SET%20SESSION%20wsrep_sync_wait%3D1"


def _wait_until_missed(cluster: GaleraCluster, node: GaleraNode) -> None:
    others = [one for one in cluster.nodes if one is not node]
    left = str(len(others))
    assert poll(
        lambda: all(one.status("wsrep_cluster_size") == left for one in others),
        SECONDS_TO_BE_MISSED,
    )
