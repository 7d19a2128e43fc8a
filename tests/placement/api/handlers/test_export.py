# SPDX-License-Identifier: Apache-2.0
"""The whole ledger as lines."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds import damage
from tests.placement.client import UUID, Client

SHARES = ("MISC_SHARES_VIA_AGGREGATE",)


def export(client: Client) -> list[dict[str, Any]]:
    reply = client.get("/trueup/export")
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in reply.text.splitlines()]


def test_the_export_of_an_empty_ledger_has_a_first_and_a_last_line(client: Client) -> None:
    assert export(client) == [
        {"trueup_export": 1},
        {"end": {"providers": 0, "consumers": 0}},
    ]


def test_every_provider_and_consumer_has_a_line(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8, "MEMORY_MB": 64})
    client.make_provider(2, 1, inventories={"VGPU": 4}, traits=SHARES, aggregates=(7,))
    client.claim(11, {1: {"VCPU": 2, "MEMORY_MB": 16}, 2: {"VGPU": 1}})
    _, first, second, holder, end = export(client)
    assert first["provider"]["inventories"]["VCPU"] == {
        "total": 8,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    assert second["provider"] | {"inventories": {}} == {
        "uuid": UUID(2),
        "name": "provider 2",
        "generation": second["provider"]["generation"],
        "root_provider_uuid": UUID(1),
        "parent_provider_uuid": UUID(1),
        "inventories": {},
        "traits": list(SHARES),
        "aggregates": [UUID(7)],
    }
    assert holder["consumer"] == {
        "uuid": UUID(11),
        "consumer_generation": 1,
        "project_id": "a-project",
        "user_id": "a-user",
        "consumer_type": "INSTANCE",
        "allocations": {UUID(1): {"VCPU": 2, "MEMORY_MB": 16}, UUID(2): {"VGPU": 1}},
    }
    assert end == {"end": {"providers": 2, "consumers": 1}}


@pytest.mark.parametrize(
    "harm",
    [
        f"UPDATE allocations SET consumer_id = 'nobody' WHERE consumer_id = '{UUID(12)}'",
        "INSERT INTO allocations (id, resource_provider_id, consumer_id, resource_class_id, used)"
        f" SELECT id + 100, resource_provider_id, '{UUID(11)}', resource_class_id, used"
        f" FROM allocations WHERE consumer_id = '{UUID(12)}'",
    ],
)
def test_usage_that_no_consumer_explains_has_a_line(
    serve: Callable[..., Client], empty_ledger: str, harm: str
) -> None:
    client = serve(empty_ledger)
    client.make_provider(1, inventories={"VCPU": 8})
    for number in (11, 12):
        client.claim(number, {1: {"VCPU": 2}})
    assert len(export(client)) == 5
    damage.execute(empty_ledger, harm)
    *_, unlisted, end = export(client)
    assert unlisted == {"unlisted": {"provider": UUID(1), "resource_class": "VCPU", "amount": 2}}
    assert end["end"]["providers"] == 1


def test_it_is_the_same_at_every_microversion(client: Client) -> None:
    client.make_provider(1, inventories={"VCPU": 8})
    texts = {
        client.get("/trueup/export", version=version).text for version in ("1.0", "1.39", None)
    }
    assert len(texts) == 1


def test_more_than_one_batch(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueup.placement.api.handlers.export._LINES_IN_BLOCK", 2)
    for number in range(1, 6):
        client.make_provider(number, inventories={"VCPU": 8})
        client.claim(10 + number, {number: {"VCPU": 1}})
    *_, end = export(client)
    assert end == {"end": {"providers": 5, "consumers": 5}}


def test_only_administrators_unless_the_policy_says_otherwise(
    serve: Callable[..., Client], empty_ledger: str, tmp_path
) -> None:
    client = serve(empty_ledger)
    service = {"x-auth-token": "nova", "x-roles": "service"}
    refused = client.get("/trueup/export", headers=service)
    assert (refused.status, "trueup:export" in refused.text) == (403, True)
    rules = tmp_path / "policy.yaml"
    rules.write_text('"trueup:export": "role:service"\n')
    lenient = serve(empty_ledger, oslo_policy={"policy_file": str(rules)})
    assert lenient.get("/trueup/export", headers=service).status == 200


def test_a_failing_database_is_reported_before_anything_is_sent(
    serve: Callable[..., Client], empty_ledger: str
) -> None:
    client = serve(empty_ledger)
    damage.execute(empty_ledger, "DROP TABLE resource_classes")
    assert client.get("/trueup/export").status == 500
