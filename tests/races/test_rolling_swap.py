# SPDX-License-Identifier: Apache-2.0
"""A rolling swap: half of the workers are upstream's, half are ours, on one database under load.

Then upstream's workers are gone, and ours go on. In `make test` one round; in `make conformance`
ten minutes.

PARITY: upstream's workers answer 500 if MariaDB ends their report of stock as a deadlock, about
once in six minutes of this load. As long as they write, more may be in use than there is. Four of
them without any of ours, with this load, over-allocate a host in about a quarter of the rounds on
MariaDB. So that one rule is judged when ours are alone: no host gets fuller than upstream left it.
"""

import contextlib
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests.differential.pair import SWEEP, TABLES, unordered
from tests.races.lives import QUERIES, Client, build, candidates
from tests.races.properties import FORBIDDEN, broken
from tests.real.cloud.processes import wait_until
from tests.servers.placement import placement_server
from tests.servers.upstream import create_tables

SECONDS = int(os.environ.get("TRUEUP_SWAP_SECONDS", "0"))
WORKERS = ("upstream", "trueup") * 2
OURS = slice(1, None, 2)
CLIENTS = 4
STEPS_OF_A_ROUND = 20
# Ours sees what upstream's workers wrote 5 seconds later, as docs/service/freshness.md says.
SECONDS_UNTIL_SEEN = 30
TOO_FULL = "more in use than there is"
WITH_ROOM = """
    SELECT p.uuid FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id
    JOIN resource_classes c ON c.id = i.resource_class_id AND c.name = 'VCPU'
    LEFT JOIN (SELECT resource_provider_id, resource_class_id, SUM(used) AS used FROM allocations
               GROUP BY resource_provider_id, resource_class_id) a
      ON a.resource_provider_id = p.id AND a.resource_class_id = c.id
    WHERE (i.total - i.reserved) * i.allocation_ratio - COALESCE(a.used, 0) >= 1"""


@pytest.mark.timeout(SECONDS + 300)
def test_half_of_the_workers_are_ours(
    fresh_database: Callable[[str], str], record_property: Callable[[str, object], None]
) -> None:
    url = fresh_database("mariadb")
    create_tables(url)
    deadline = time.monotonic() + SECONDS
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(placement_server(kind, url)) for kind in WORKERS]
        workers = [server.url for server in started]
        build(workers[0])
        upstreams = frozenset(workers) - frozenset(workers[OURS])
        clients = [
            Client(workers, random.Random(seed), upstreams=upstreams) for seed in range(CLIENTS)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        while True:
            for life in [pool.submit(client.live, STEPS_OF_A_ROUND) for client in clients]:
                life.result()
            _judge(url, workers, clients)
            if time.monotonic() > deadline:
                break
        left = _used_of_full(url)
        for client in clients:
            client.workers = workers[OURS]
        lives = [pool.submit(client.live, STEPS_OF_A_ROUND) for client in clients]
        while wait(lives, timeout=0.1).not_done:
            assert _fuller_than(left, url) == {}
        for life in lives:
            life.result()
        assert _fuller_than(left, url) == {}
        _judge(url, workers[OURS], clients)
    for name in ("acknowledged", "refused"):
        record_property(name, sum(getattr(client, name) for client in clients))
    assert all(client.acknowledged for client in clients)


def _judge(url: str, workers: Sequence[str], clients: Sequence[Client]) -> None:
    """While nobody writes: the ledger is whole, nothing was lost, and all answer the same."""
    _rows(url, SWEEP)
    assert [line for line in broken(url) if not line.startswith(TOO_FULL)] == []
    acknowledged = sorted(row for client in clients for row in client.rows())
    assert _rows(url, TABLES["allocations"]) == acknowledged
    for query in QUERIES:
        expected = unordered(candidates(workers[0], query))

        def agree(query: str = query, expected: object = expected) -> bool:
            return all(unordered(candidates(one, query)) == expected for one in workers)

        wait_until(agree, f"all workers say the same of {query}", SECONDS_UNTIL_SEEN)
    found = candidates(workers[-1], QUERIES[0])["allocation_requests"]
    hosts = sorted((host,) for one in found for host in one["allocations"])
    assert hosts == _rows(url, WITH_ROOM)


def _used_of_full(url: str) -> dict[str, int]:
    """What is in use of each host that has less than that, by its name."""
    return {name: int(used) for name, used, _ in _rows(url, FORBIDDEN[TOO_FULL])}


def _fuller_than(left: Mapping[str, int], url: str) -> dict[str, int]:
    return {name: used for name, used in _used_of_full(url).items() if used > left.get(name, 0)}


def _rows(url: str, statement: str) -> list[tuple]:
    with sqlalchemy.create_engine(url, poolclass=NullPool).begin() as connection:
        found = connection.execute(sqlalchemy.text(statement))
        return sorted(map(tuple, found)) if found.returns_rows else []
