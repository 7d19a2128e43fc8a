# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from tests.placement.client import UUID, Client

HOST = 1


@pytest.fixture
def cloud(client: Client) -> Client:
    client.make_provider(HOST, inventories={"VCPU": 8, "DISK_GB": 8}, traits=("HW_CPU_X86_AVX",))
    return client


def answer(cloud: Client, version: str, query: str = "resources=VCPU:1") -> Any:
    reply = cloud.get(f"/allocation_candidates?{query}", version=version)
    assert reply.status == 200, reply.text
    return reply.json


def test_requests_are_a_list_then_a_map_then_have_mappings(cloud: Client) -> None:
    held = {"resources": {"VCPU": 1}}
    (listed,) = answer(cloud, "1.11")["allocation_requests"]
    assert listed == {"allocations": [{"resource_provider": {"uuid": UUID(HOST)}, **held}]}
    (mapped,) = answer(cloud, "1.12")["allocation_requests"]
    assert mapped == {"allocations": {UUID(HOST): held}}
    (newest,) = answer(cloud, "1.34")["allocation_requests"]
    assert newest["mappings"] == {"": [UUID(HOST)]}


def test_summaries_grow_with_the_microversions(cloud: Client) -> None:
    def shown(version: str) -> dict[str, Any]:
        return answer(cloud, version)["provider_summaries"][UUID(HOST)]

    capacity = {"capacity": 8, "used": 0}
    assert shown("1.16") == {"resources": {"VCPU": capacity}}
    assert shown("1.17")["traits"] == ["HW_CPU_X86_AVX"]
    assert shown("1.27")["resources"] == {"VCPU": capacity, "DISK_GB": capacity}
    assert shown("1.29")["root_provider_uuid"] == UUID(HOST)


@pytest.mark.parametrize(
    ("version", "query", "reason", "code"),
    [
        ("1.39", "", "There must be at least one", "placement.query.missing_value"),
        ("1.35", "required1=A", "orphaned traits keys: required1", None),
        ("1.35", f"member_of1={UUID(5)}", "orphaned member_of keys: member_of1", None),
        ("1.35", f"resources=VCPU:1&in_tree1={UUID(5)}", "must specify resources", None),
        ("1.35", "", "At least one request group", None),
        (
            "1.39",
            "resources=VCPU:1&required1=A",
            "bad group(s) - ['1']",
            "placement.query.bad_value",
        ),
        (
            "1.39",
            "resources1=VCPU:1&same_subtree=1,2",
            "['2'] not found in ['1']",
            "placement.query.bad_value",
        ),
        (
            "1.39",
            "resources1=VCPU:1&same_subtree=1,",
            "Empty string",
            "placement.query.bad_value",
        ),
        ("1.39", "resources1=VCPU:1&resources2=VCPU:1", '"group_policy" parameter is req', None),
        ("1.39", "resources=VCPU:1&required=A,!A", "traits keys: required: (A)", None),
        (
            "1.39",
            "resources=VCPU:1&root_required=A&root_required=B",
            "only once",
            "placement.query.duplicate_key",
        ),
        (
            "1.39",
            "resources=VCPU:1&root_required=A,!A",
            "found in root_required: A",
            "placement.query.bad_value",
        ),
        ("1.39", "resources=VCPU:1&limit=0", "does not match", None),
        ("1.15", "resources=VCPU:1&limit=1", "Additional properties", None),
    ],
)
def test_bad_queries_are_refused(
    client: Client, version: str, query: str, reason: str, code: str | None
) -> None:
    reply = client.get(f"/allocation_candidates?{query}", version=version)
    assert reply.status == 400
    assert reason in reply.error["detail"]
    assert code is None or reply.error["code"] == code


def test_suffixes_are_numbers_then_words(cloud: Client) -> None:
    query = "resources_NIC=VCPU:1"
    assert len(answer(cloud, "1.33", query)["allocation_requests"]) == 1
    assert cloud.get(f"/allocation_candidates?{query}", version="1.32").status == 400
