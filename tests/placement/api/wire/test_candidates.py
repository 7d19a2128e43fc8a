# SPDX-License-Identifier: Apache-2.0

import pytest

from tests.placement.client import UUID, Client


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
