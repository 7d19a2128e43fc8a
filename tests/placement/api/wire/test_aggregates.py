# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.placement.client import UUID, Client

PATH = f"/resource_providers/{UUID(1)}/aggregates"
BOTH = [UUID(50), UUID(51)]


@pytest.fixture
def host(client: Client) -> Client:
    client.make_provider(1)
    return client


def test_a_bare_list_says_and_changes_no_generation(host: Client) -> None:
    assert host.put(PATH, BOTH, version="1.18").json == {"aggregates": BOTH}
    assert host.get(PATH, version="1.18").json == {"aggregates": BOTH}
    assert host.get(PATH).json["resource_provider_generation"] == 0


def test_from_1_19_the_generation_guards_the_list(host: Client) -> None:
    seen = {"aggregates": BOTH, "resource_provider_generation": 0}
    written = {"aggregates": BOTH, "resource_provider_generation": 1}
    assert host.put(PATH, seen, version="1.19").json == written
    assert host.get(PATH, version="1.19").json == written
    stale = host.put(PATH, {**seen, "aggregates": []})
    assert (stale.status, stale.error["code"]) == (409, "placement.concurrent_update")
    assert host.get(PATH).json == written


OTHER_FORMS = [
    ({"aggregates": [], "resource_provider_generation": 0}, "1.18"),
    ([], "1.19"),
    ({"aggregates": []}, "1.19"),
    ({"resource_provider_generation": 0}, "1.19"),
    ({"aggregates": [], "resource_provider_generation": "0"}, "1.19"),
    ({"aggregates": [], "resource_provider_generation": 0, "more": 1}, "1.19"),
    ([UUID(50), UUID(50)], "1.18"),
    (["no uuid"], "1.18"),
    ([None], "1.18"),
]


def test_other_forms_are_refused(host: Client) -> None:
    for body, version in OTHER_FORMS:
        reply = host.put(PATH, body, version=version)
        assert reply.status == 400, body
        assert "JSON does not validate" in reply.error["detail"]
    assert host.get(PATH).json == {"aggregates": [], "resource_provider_generation": 0}


def test_before_1_1_there_are_no_aggregates(host: Client) -> None:
    assert host.get(PATH, version="1.0").status == 404
