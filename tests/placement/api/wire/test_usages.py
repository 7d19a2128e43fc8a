# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import Client

PROJECT = "/usages?project_id=a-project"


@pytest.fixture
def cloud(client: Client) -> Client:
    client.make_provider(1, inventories={"VCPU": 8})
    client.claim(100, {1: {"VCPU": 3}})
    return client


def test_a_value_that_only_begins_with_all_matches_no_type(cloud: Client) -> None:
    """Upstream's pattern has no end."""
    assert cloud.get(f"{PROJECT}&consumer_type=all").json["usages"].keys() == {"all"}
    assert cloud.get(f"{PROJECT}&consumer_type=all-of-it").json == {"usages": {}}
