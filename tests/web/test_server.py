# SPDX-License-Identifier: Apache-2.0
"""The server, as far as tests of `trueup watch` do not cover it."""

import requests

from trueup.web.server import HTML, Answer, Request, serving

LOOPBACK = "127.0.0.1"


def echo(asked: Request) -> Answer:
    return Answer(repr(asked).encode(), HTML, headers={"X-Own": "yes"})


def test_it_gives_path_query_and_host_and_sends_the_headers_of_the_answer():
    with serving(LOOPBACK, 0, echo) as port:
        answer = requests.get(f"http://{LOOPBACK}:{port}/a%20b?c=d&e", timeout=30)
    assert answer.text == repr(Request("/a%20b", "c=d&e", f"{LOOPBACK}:{port}"))
    assert (answer.headers["X-Own"], answer.headers["Content-Type"]) == ("yes", HTML)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_nothing_but_reading_is_answered():
    with serving(LOOPBACK, 0, echo) as port:
        for method in (requests.post, requests.put, requests.delete):
            assert method(f"http://{LOOPBACK}:{port}/", timeout=30).status_code == 501
        assert requests.head(f"http://{LOOPBACK}:{port}/", timeout=30).content == b""
