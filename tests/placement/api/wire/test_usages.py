# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import UUID, Client
from trueup.model.usages import TypeUsage
from trueup.placement.api.wire.usages import render_by_type, render_of_provider

PROJECT = "/usages?project_id=a-project"


def test_a_type_says_how_many_consumers_it_has() -> None:
    found = [TypeUsage("INSTANCE", 2, {"VCPU": 3, "DISK_GB": 2}), TypeUsage("unknown", 1, {})]
    assert render_by_type(found) == {
        "usages": {
            "INSTANCE": {"VCPU": 3, "DISK_GB": 2, "consumer_count": 2},
            "unknown": {"consumer_count": 1},
        }
    }
    assert render_by_type([]) == {"usages": {}}


def test_a_provider_says_its_generation() -> None:
    assert render_of_provider({"VCPU": 0}, 7) == {
        "resource_provider_generation": 7,
        "usages": {"VCPU": 0},
    }


@pytest.fixture
def cloud(client: Client) -> Client:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 3}})
    return client


OTHER_QUESTIONS = [
    ("/usages", "1.39"),
    ("/usages?user_id=a-user", "1.39"),
    ("/usages?project_id=", "1.39"),
    (f"/usages?project_id={'a' * 256}", "1.39"),
    (f"{PROJECT}&user_id=", "1.39"),
    (f"{PROJECT}&more=1", "1.39"),
    (f"{PROJECT}&consumer_type=INSTANCE", "1.37"),
    (f"{PROJECT}&consumer_type=instance", "1.38"),
    (f"{PROJECT}&consumer_type=unknowns", "1.38"),
    (f"{PROJECT}&consumer_type=", "1.38"),
]


def test_other_questions_are_refused(cloud: Client) -> None:
    for query, version in OTHER_QUESTIONS:
        reply = cloud.get(query, version=version)
        assert reply.status == 400, query
        assert "Invalid query string parameters" in reply.error["detail"]


def test_types_are_told_apart_from_1_38(cloud: Client) -> None:
    assert cloud.get(PROJECT, version="1.8").status == 404
    assert cloud.get(PROJECT, version="1.37").json == {"usages": {"VCPU": 3}}
    by_type = {"INSTANCE": {"VCPU": 3, "consumer_count": 1}}
    assert cloud.get(PROJECT, version="1.38").json == {"usages": by_type}


def test_what_only_begins_with_all_is_a_type_that_nobody_has(cloud: Client) -> None:
    """Upstream's pattern has no end."""
    assert cloud.get(f"{PROJECT}&consumer_type=all").json["usages"].keys() == {"all"}
    assert cloud.get(f"{PROJECT}&consumer_type=all-of-it").json == {"usages": {}}


def test_what_nobody_uses_is_shown_of_a_provider(cloud: Client) -> None:
    cloud.make_provider(2, inventories={"DISK_GB": 5})
    shown = cloud.get(f"/resource_providers/{UUID(2)}/usages").json
    assert shown == {"resource_provider_generation": 1, "usages": {"DISK_GB": 0}}
