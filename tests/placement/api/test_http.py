# SPDX-License-Identifier: Apache-2.0
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tests.placement.client import UUID, Client
from trueup.placement.api.http import Parts, http_date, newest, utc_now


def test_the_newest_of_several_times_counts() -> None:
    old, young = datetime(2020, 1, 1), datetime(2024, 1, 1)
    assert newest([old, young]) == young


def test_an_object_without_a_time_counts_as_modified_now() -> None:
    before = utc_now()
    assert newest([]) >= before
    assert newest([datetime(2020, 1, 1), None]) >= before


def test_times_are_written_as_http_wants_them() -> None:
    assert http_date(datetime(2020, 1, 2, 3, 4, 5)) == "Thu, 02 Jan 2020 03:04:05 GMT"


def test_cache_headers_are_sent_since_their_microversion(client: Client) -> None:
    assert client.get("/traits", version="1.15").headers["cache-control"] == "no-cache"
    assert "cache-control" not in client.get("/traits", version="1.14").headers


def test_a_query_must_be_utf_8(client: Client) -> None:
    reply = client.get("/resource_providers?name=%ff")
    assert reply.status == 400
    assert "Invalid query string parameters" in reply.error["detail"]


def test_a_query_need_not_be_percent_encoded(client: Client) -> None:
    client.post("/resource_providers", {"name": "hé"})
    # Servers pass the bytes of curl's text, decoded as latin-1.
    sent = "é".encode().decode("latin-1")
    for asked in ("h%C3%A9", f"h{sent}"):
        found = client.get(f"/resource_providers?name={asked}").json["resource_providers"]
        assert [provider["name"] for provider in found] == ["hé"]
    reply = client.get("/resource_providers?name=\xe9")
    assert reply.status == 400
    assert "Invalid query string parameters" in reply.error["detail"]


def test_semicolons_separate_parameters(client: Client) -> None:
    client.make_provider(1)
    client.make_provider(2)
    path = f"/resource_providers?name=provider 1;uuid={UUID(1)}"
    assert [provider["uuid"] for provider in client.get(path).json["resource_providers"]] == [
        UUID(1)
    ]
    assert client.get("/usages?project_id=a;unknown=b").status == 400
    assert client.get("/resource_providers?name=a%3Bb").json == {"resource_providers": []}


_TEXTS = st.lists(st.sampled_from([b"", b"{}", b"[1,2]"]))


@given(_TEXTS, _TEXTS.map(lambda few: 300 * few), st.sampled_from([b"", b"]}"]))
def test_a_body_is_the_same_joined_at_once_and_in_blocks(
    first: list[bytes], texts: list[bytes], last: bytes
) -> None:
    parts = Parts(first, texts, last)
    whole = b"".join(first) + b",".join(texts) + last
    assert parts.joined() == whole
    assert parts.size() == len(whole)
    blocks = list(parts.blocks())
    assert b"".join(blocks) == whole
    # The largest of 512 texts with a comma before each.
    assert all(len(block) <= 512 * 6 for block in blocks)
