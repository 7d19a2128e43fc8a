# SPDX-License-Identifier: Apache-2.0
"""Upstream and Trueup on one database: swapped in, swapped back, and both at once."""

import json
import urllib.request
from typing import Any

import pytest

from tests.clouds.ledger import ledger_at
from tests.deployment.schemas import schema_of, trueup_command, upstream_command
from tests.servers.placement import placement_server

PROVIDER = "5eb033fd-aaaa-4bbb-8ccc-{:012d}".format
CONSUMER = "c0c0c0c0-aaaa-4bbb-8ccc-{:012d}".format
KINDS = ("sqlite", "mariadb", "postgresql")


def send(url: str, method: str, path: str, body: Any = None) -> Any:
    headers = {
        "X-Auth-Token": "admin",
        "OpenStack-API-Version": "placement 1.39",
        "Content-Type": "application/json",
    }
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def write(url: str, number: int) -> None:
    """A provider with eight processors, a trait of its own, and a consumer of two of them."""
    provider, consumer = PROVIDER(number), CONSUMER(number)
    send(url, "POST", "/resource_providers", {"uuid": provider, "name": f"host{number}"})
    send(url, "PUT", f"/traits/CUSTOM_OF_{number}")
    path = f"/resource_providers/{provider}"
    traits = {"resource_provider_generation": 0, "traits": [f"CUSTOM_OF_{number}"]}
    send(url, "PUT", f"{path}/traits", traits)
    stock = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 8}}}
    send(url, "PUT", f"{path}/inventories", stock)
    held = {
        "allocations": {provider: {"resources": {"VCPU": 2}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    send(url, "PUT", f"/allocations/{consumer}", held)


def hosts_with_room(url: str, processors: int) -> list[str]:
    found = send(url, "GET", f"/allocation_candidates?resources=VCPU:{processors}")
    return sorted(found["provider_summaries"])


def run(command: Any, *words: str) -> str:
    done = command(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_swapped_in_and_back(kind, fresh_database):
    url = fresh_database(kind)
    run(upstream_command, "placement-manage", url, "db", "sync")
    upstreams = schema_of(url)
    with placement_server("upstream", url) as service:
        write(service.url, 1)
        ledger = ledger_at(service.url)

    run(trueup_command, "trueup-manage", url, "db", "sync")
    assert schema_of(url) == upstreams
    with placement_server("trueup", url) as service:
        assert ledger_at(service.url) == ledger
        write(service.url, 2)
        ledger = ledger_at(service.url)
    assert run(trueup_command, "trueup-manage", url, "db", "fsck") == "Nothing is wrong.\n"
    run(trueup_command, "trueup-manage", url, "db", "detach")

    assert schema_of(url) == upstreams
    run(upstream_command, "placement-manage", url, "db", "sync")
    run(upstream_command, "placement-manage", url, "db", "online_data_migrations")
    run(upstream_command, "placement-status", url, "upgrade", "check")
    with placement_server("upstream", url) as service:
        assert ledger_at(service.url) == ledger
        write(service.url, 3)
        assert hosts_with_room(service.url, 6) == [PROVIDER(n) for n in (1, 2, 3)]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_database_of_ours_is_served_by_both_at_once(kind, fresh_database):
    url = fresh_database(kind)
    run(trueup_command, "trueup-manage", url, "db", "sync")
    with placement_server("upstream", url) as theirs, placement_server("trueup", url) as ours:
        write(theirs.url, 1)
        write(ours.url, 2)
        assert ledger_at(theirs.url) == ledger_at(ours.url)
        everything = [PROVIDER(1), PROVIDER(2)]
        assert hosts_with_room(theirs.url, 6) == hosts_with_room(ours.url, 6) == everything
