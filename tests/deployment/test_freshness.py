# SPDX-License-Identifier: Apache-2.0
"""Invariant 3 with worker processes: after an acknowledged write, all of them answer with it."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.deployment.schemas import trueup_command
from tests.deployment.test_side_by_side import KINDS, PROVIDER, hosts_with_room, run, send, write
from tests.servers import processes
from tests.servers.placement import placement_server

CONSUMER = "c0c0c0c0-bbbb-4bbb-8ccc-{:012d}".format
ROUNDS, HOSTS = 6, (1, 2, 3)


def claim(url: str, number: int, amount: int) -> None:
    body = {
        "allocations": {PROVIDER(number): {"resources": {"VCPU": amount}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    send(url, "PUT", f"/allocations/{CONSUMER(number)}", body)


def release(url: str, number: int) -> None:
    send(url, "DELETE", f"/allocations/{CONSUMER(number)}")


def has_room(url: str, number: int, amount: int) -> bool:
    query = f"resources=VCPU:{amount}&in_tree={PROVIDER(number)}"
    found = send(url, "GET", f"/allocation_candidates?{query}")
    return bool(found["allocation_requests"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_through_one_worker_is_in_the_next_answer_of_another(kind, fresh_database):
    url = fresh_database(kind)
    run(trueup_command, "trueup-manage", url, "db", "sync")
    with placement_server("trueup", url) as one, placement_server("trueup", url) as other:
        for number in HOSTS:
            write(one.url, number)
        urls = (one.url, other.url)

        def fill_and_empty(number: int) -> list[bool]:
            """Send each write to one of the two workers, and each query to the other."""
            rooms = []
            for _, (writes, asks) in zip(range(ROUNDS), itertools.cycle((urls, urls[::-1]))):
                claim(writes, number, 6)
                rooms.append(has_room(asks, number, 1))
                release(asks, number)
                rooms.append(has_room(writes, number, 6))
            return rooms

        with ThreadPoolExecutor(len(HOSTS)) as pool:
            assert list(pool.map(fill_and_empty, HOSTS)) == [[False, True] * ROUNDS] * len(HOSTS)
        moved = {"name": "host2", "parent_provider_uuid": PROVIDER(1)}
        send(one.url, "PUT", f"/resource_providers/{PROVIDER(2)}", moved)
        query = f"/allocation_candidates?resources=VCPU:1&in_tree={PROVIDER(1)}"
        found = send(other.url, "GET", query)["provider_summaries"]
        assert set(found) == {PROVIDER(1), PROVIDER(2)}
    assert run(trueup_command, "trueup-manage", url, "index", "verify", "--seconds", "0") == (
        "Nothing is wrong.\n"
    )


@pytest.mark.parametrize("kind", KINDS[1:])
def test_what_upstreams_service_writes_is_seen_within_seconds(kind, fresh_database):
    url = fresh_database(kind)
    run(trueup_command, "trueup-manage", url, "db", "sync")
    with placement_server("upstream", url) as theirs, placement_server("trueup", url) as ours:
        write(ours.url, 1)
        assert hosts_with_room(ours.url, 6) == [PROVIDER(1)]
        write(theirs.url, 2)
        claim(theirs.url, 1, 6)
        assert processes.poll(lambda: hosts_with_room(ours.url, 6) == [PROVIDER(2)], 30)
        release(theirs.url, 1)
        both = [PROVIDER(1), PROVIDER(2)]
        assert processes.poll(lambda: hosts_with_room(ours.url, 6) == both, 30)
