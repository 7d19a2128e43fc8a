# SPDX-License-Identifier: Apache-2.0
import socket
import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import requests

from tests.reconcile.planning import BROKEN
from tests.reconcile.watch.watching import scene, seen_at
from trueup.reconcile.clock import now
from trueup.reconcile.watch.server import serving
from trueup.reconcile.watch.status import STUCK_AFTER, WatchStatus
from trueup.web.errors import AddressUnusable

LOOPBACK = "127.0.0.1"


def asked(path: str, status: WatchStatus, method: Callable = requests.get) -> requests.Response:
    with serving(LOOPBACK, 0, lambda: status) as port:
        return method(f"http://{LOOPBACK}:{port}{path}", timeout=30)


@pytest.fixture
def good(tmp_path) -> WatchStatus:
    return scene([seen_at(BROKEN, 0)], tmp_path / "x").watcher.status


@pytest.fixture
def nothing(tmp_path) -> WatchStatus:
    return scene([], tmp_path / "x").watcher.status


def test_the_page_and_the_metrics(good):
    page = asked("/?now", good)
    assert (page.status_code, page.content) == (200, good.page)
    assert page.headers["Content-Type"].startswith("text/html")
    metrics = asked("/metrics", good)
    assert metrics.headers["Content-Type"].startswith("text/plain")
    assert "trueup_watch_findings" in metrics.text
    assert asked("/", good, requests.head).content == b""


def test_it_is_ready_when_a_round_has_succeeded(good, nothing):
    assert asked("/readyz", good).status_code == 200
    for path in ("/", "/readyz"):
        answer = asked(path, nothing)
        assert (answer.status_code, answer.text) == (503, "no round has succeeded yet\n")


def test_it_is_alive_unless_a_round_hangs(good, nothing):
    assert asked("/livez", nothing).status_code == 200
    working = replace(good, running_since=now())
    assert asked("/livez", working).status_code == 200
    stuck = replace(good, running_since=now() - STUCK_AFTER - timedelta(seconds=1))
    answer = asked("/livez", stuck)
    assert (answer.status_code, "has not ended since" in answer.text) == (503, True)


def test_there_is_nothing_else_and_nothing_to_write(good):
    assert asked("/etc/passwd", good).status_code == 404
    assert asked("/", good, requests.post).status_code == 501


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_refused(nothing, host):
    with pytest.raises(AddressUnusable), serving(host, 0, lambda: nothing):
        pass


def test_a_port_that_is_taken_is_refused(nothing):
    with (
        serving(LOOPBACK, 0, lambda: nothing) as port,
        pytest.raises(AddressUnusable),
        serving(LOOPBACK, port, lambda: nothing),
    ):
        pass


def test_it_listens_on_an_address_of_ipv6_too(good):
    with serving("::1", 0, lambda: good) as port:
        assert requests.get(f"http://[::1]:{port}/readyz", timeout=30).text == "ok\n"


def test_a_client_that_hangs_up_is_no_news(good, capfd):
    large = replace(good, page=b"x" * 50_000_000)
    with serving(LOOPBACK, 0, lambda: large) as port:
        with socket.create_connection((LOOPBACK, port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            client.recv(1)
        assert requests.get(f"http://{LOOPBACK}:{port}/livez", timeout=30).ok
    assert capfd.readouterr().err == ""
