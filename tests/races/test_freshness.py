# SPDX-License-Identifier: Apache-2.0
"""Invariant 3 on a cluster: with wsrep_sync_wait, a worker sees what another node acknowledged."""

import os
from contextlib import closing

from tests.differential.calls import Call
from tests.differential.pair import Answer, ask
from tests.races.arena import PROCESSORS, Arena, prepare
from tests.races.test_races import ON_ONE_CLUSTER, SETTINGS
from tests.races.writes import call, claim
from tests.servers.galera import GaleraCluster
from tests.servers.placement import NOAUTH
from trueup.placement.app import make_app

ROUNDS = int(os.environ.get("TRUEUP_ROUNDS", "40"))
# As the page about freshness says it.
PARAMETERS = {"connection_parameters": "init_command=SET SESSION wsrep_sync_wait=1"}

pytestmark = ON_ONE_CLUSTER


def test_what_one_node_acknowledged_is_in_the_next_answer_of_another(
    galera_cluster: GaleraCluster,
) -> None:
    arena = Arena(0)
    path = f"/allocation_candidates?resources={PROCESSORS}:2&in_tree={arena.uuid('twig')}"
    candidates = call("GET", path)
    take = claim("newcomer", {"twig": 2})(arena)
    held = call("GET", take.path)
    release = call("DELETE", take.path)
    settings = {**NOAUTH, "placement_database": PARAMETERS}
    with galera_cluster.nodes[0].server.empty_database() as url:
        make_app(url, SETTINGS).close()
        prepare(url, [arena])
        here, there = (make_app(one, settings) for one in galera_cluster.urls(url)[:2])
        with closing(here), closing(there):

            def send(application: object, request: Call) -> Answer:
                answer = ask(application, request)
                assert answer.status in (200, 204), answer
                return answer

            for _ in range(ROUNDS):
                send(here, take)
                assert send(there, candidates).body["allocation_requests"] == []
                assert send(there, held).body["allocations"] != {}
                send(here, release)
                assert send(there, held).body["allocations"] == {}
                assert send(there, candidates).body["allocation_requests"] != []
