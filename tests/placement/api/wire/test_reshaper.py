# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from tests.placement.client import UUID, Client, claim

HOST, NUMA = 1, 2
EMPTY = {"resource_provider_generation": 1, "inventories": {}}


@pytest.fixture
def cloud(client: Client) -> Client:
    client.headers["x-roles"] = "admin,service"
    client.make_provider(HOST, inventories={"VCPU": 8})
    return client


def totals(cloud: Client) -> dict[str, int]:
    shown = cloud.get(f"/resource_providers/{UUID(HOST)}/inventories").json["inventories"]
    return {name: one["total"] for name, one in shown.items()}


def test_what_is_left_out_has_the_defaults_of_every_inventory(cloud: Client) -> None:
    given = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 4}}}
    body = {"inventories": {UUID(HOST): given}, "allocations": {}}
    assert cloud.post("/reshaper", body).status == 204
    shown = cloud.get(f"/resource_providers/{UUID(HOST)}/inventories/VCPU").json
    shown.pop("resource_provider_generation")
    assert shown == {
        "total": 4,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2**31 - 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }


def test_a_provider_may_lose_everything(cloud: Client) -> None:
    body = {"inventories": {UUID(HOST): EMPTY}, "allocations": {}}
    assert cloud.post("/reshaper", body).status == 204
    assert totals(cloud) == {}


def without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


HELD = claim({HOST: {"VCPU": 1}})
OF_OLD = without(HELD, "consumer_type")
MAPPED = {**OF_OLD, "mappings": {"": [UUID(HOST)]}}


@pytest.mark.parametrize(
    ("held", "accepted", "refused"),
    [(OF_OLD, "1.30", "1.38"), (MAPPED, "1.34", "1.33"), (HELD, "1.38", "1.37")],
)
def test_allocations_have_the_form_of_their_microversion(
    cloud: Client, held: dict[str, Any], accepted: str, refused: str
) -> None:
    given = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 4}}}
    body = {"inventories": {UUID(HOST): given}, "allocations": {UUID(100): held}}
    assert cloud.post("/reshaper", body, version=refused).status == 400
    assert totals(cloud) == {"VCPU": 8}
    assert cloud.post("/reshaper", body, version=accepted).status == 204
    assert totals(cloud) == {"VCPU": 4}


OTHER_FORMS = [
    {},
    {"inventories": {UUID(HOST): EMPTY}},
    {"allocations": {}},
    {"inventories": {}, "allocations": {}},
    {"inventories": {"host": EMPTY}, "allocations": {}},
    {"inventories": {UUID(HOST): {"inventories": {}}}, "allocations": {}},
    {"inventories": {UUID(HOST): {"resource_provider_generation": 1}}, "allocations": {}},
    {"inventories": {UUID(HOST): EMPTY}, "allocations": {"server": HELD}},
    {
        "inventories": {UUID(HOST): EMPTY},
        "allocations": {UUID(100): without(HELD, "consumer_generation")},
    },
    {"inventories": {UUID(HOST): EMPTY}, "allocations": {}, "more": 1},
]


def test_other_forms_are_refused(cloud: Client) -> None:
    for body in OTHER_FORMS:
        reply = cloud.post("/reshaper", body)
        assert reply.status == 400, body
        assert "JSON does not validate" in reply.error["detail"]
    assert totals(cloud) == {"VCPU": 8}


def test_before_1_30_there_is_no_reshaper(cloud: Client) -> None:
    body = {"inventories": {UUID(HOST): EMPTY}, "allocations": {}}
    assert cloud.post("/reshaper", body, version="1.29").status == 404
    assert totals(cloud) == {"VCPU": 8}
