# SPDX-License-Identifier: Apache-2.0
from datetime import datetime

from tests.placement.client import Client
from trueup.placement.api.http import http_date, newest, utc_now


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
