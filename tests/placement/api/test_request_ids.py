# SPDX-License-Identifier: Apache-2.0
import logging
import re

import pytest

from tests.placement.client import Client
from trueup.placement.api.request_ids import GLOBAL_REQUEST_ID, RequestIds

INBOUND = "req-5eb033fd-c550-420e-a31c-3ec2703a403c"


def test_each_answer_has_an_id_of_its_own(client: Client) -> None:
    first, second = (client.get("/").headers["x-openstack-request-id"] for _ in range(2))
    assert re.fullmatch(r"req-[0-9a-f-]{36}", first)
    assert first != second


def test_a_refused_token_has_an_id_too(client: Client) -> None:
    client.headers.clear()
    reply = client.get("/resource_providers")
    assert reply.status == 401
    assert reply.headers["x-openstack-request-id"] == reply.error["request_id"]


@pytest.mark.parametrize(("inbound", "kept"), [(INBOUND, True), ("drop table", False)])
def test_the_id_of_the_caller_is_kept_if_it_is_one(inbound: str, kept: bool) -> None:
    seen = {}

    def application(environ, start_response):
        seen.update(environ)
        return []

    environ = {"HTTP_X_OPENSTACK_REQUEST_ID": inbound, "PATH_INFO": "/"}
    list(RequestIds(application, lambda _: None)(environ, lambda *_: None))
    assert seen.get(GLOBAL_REQUEST_ID) == (inbound if kept else None)


def test_requests_are_logged_with_their_status(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="placement.requestlog"):
        client.get("/traits?name=in:A", version="1.20")
    assert '"GET /traits?name=in:A" status: 200' in caplog.text
    assert "microversion: 1.20" in caplog.text


@pytest.mark.parametrize("path", ["/one\r\nplacement fake line", "/\x1b[2Jx", "/\x85two", "/\0"])
def test_a_path_cannot_write_lines_into_the_log(
    client: Client, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with caplog.at_level(logging.INFO, logger="placement.requestlog"):
        client.get(path)
    [message] = caplog.messages
    assert message.isprintable()
    assert message.splitlines() == [message]


def test_more_requests_at_once_than_ever_before_are_noted() -> None:
    noted: list[int] = []
    depth = iter([3, 1, 4])

    def application(environ, start_response):
        if environ["depth"] > 1:
            ask(environ["depth"] - 1)
        return []

    def ask(depth: int) -> None:
        requests({"PATH_INFO": "/", "depth": depth}, lambda *_: None)

    requests = RequestIds(application, noted.append)
    for count in depth:
        ask(count)
    assert noted == [1, 2, 3, 4]
