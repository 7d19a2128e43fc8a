# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from tests.placement.client import UUID, Client, claim

HOST, NUMA = 1, 2


@pytest.fixture
def cloud(client: Client) -> Client:
    client.headers["x-roles"] = "admin,service"
    client.make_provider(HOST, inventories={"VCPU": 8, "DISK_GB": 8})
    client.make_provider(NUMA, HOST)
    client.claim(100, {HOST: {"VCPU": 4, "DISK_GB": 1}})
    return client


def inventories(generation: int, **totals: int) -> dict[str, Any]:
    return {
        "resource_provider_generation": generation,
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }


def move(generation: int = 2, vcpu: int = 8) -> dict[str, Any]:
    """The processors go from the host to its NUMA node, and the server with them."""
    return {
        "inventories": {
            UUID(HOST): inventories(generation, DISK_GB=8),
            UUID(NUMA): inventories(0, VCPU=vcpu),
        },
        "allocations": {UUID(100): claim({HOST: {"DISK_GB": 1}, NUMA: {"VCPU": 4}}, 1)},
    }


def test_inventories_and_allocations_move_together(cloud: Client) -> None:
    assert cloud.post("/reshaper", move()).status == 204
    shown = cloud.get(f"/resource_providers/{UUID(NUMA)}/usages").json
    assert shown["usages"] == {"VCPU": 4}
    shown = cloud.get(f"/resource_providers/{UUID(HOST)}/usages").json
    assert shown["usages"] == {"DISK_GB": 1}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (move(generation=1), 409, "placement.concurrent_update"),
        (move(vcpu=2), 409, "placement.undefined_code"),
        ({**move(), "allocations": {}}, 409, "placement.inventory.inuse"),
        (
            {**move(), "inventories": {UUID(9): inventories(0)}},
            400,
            "placement.resource_provider.not_found",
        ),
        (
            {**move(), "inventories": {UUID(NUMA): inventories(0, NOBODY=1)}},
            400,
            "placement.undefined_code",
        ),
    ],
)
def test_a_refused_reshape_changes_nothing(
    cloud: Client, body: dict[str, Any], status: int, code: str
) -> None:
    paths = [f"/resource_providers/{UUID(one)}/inventories" for one in (HOST, NUMA)]
    before = [cloud.get(path).json for path in paths]
    reply = cloud.post("/reshaper", body)
    assert (reply.status, reply.error["code"]) == (status, code)
    assert [cloud.get(path).json for path in paths] == before
