# SPDX-License-Identifier: Apache-2.0
"""Error documents of every service, and what is none."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from keystoneauth1 import adapter, noauth, session
from keystoneauth1.identity import v3

from tests.reconcile.sources.broken_server import Reply, adapter_of, answering
from tests.servers.processes import free_port
from trueup.reconcile.sources.errors import AccessDenied, Cause, LoginRefused, Unreachable
from trueup.reconcile.sources.http import document_of, send_request, well_formed


def asked(reply: Reply):
    with answering({"GET /x": reply}) as url:
        return document_of("It", send_request("It", adapter_of(url), "GET", "/x"))


def test_a_document_is_given_as_it_is():
    assert asked(Reply(200, {"a": [1]})) == {"a": [1]}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500, {"errors": [{"detail": "It\nbroke."}]}), "HTTP 500: It broke."),
        (Reply(400, {"badRequest": {"code": 400, "message": "Not so."}}), "HTTP 400: Not so."),
        (Reply(503, {"NeutronError": "Down."}), "HTTP 503: Down."),
        (Reply(502, "<html>"), "HTTP 502: HTTP 502"),
        (Reply(500, []), "HTTP 500: HTTP 500"),
        (Reply(500, {}), "HTTP 500: HTTP 500"),
        (Reply(200, "<html>"), "its answer is not one of It"),
    ],
)
def test_what_is_no_document_is_told_with_its_reason(reply, reason):
    with pytest.raises(Unreachable) as silent:
        asked(reply)
    assert (silent.value.source, silent.value.reason) == ("It", reason)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_told_apart(status):
    with pytest.raises(AccessDenied):
        asked(Reply(status, {"error": {"message": "Go away."}}))


def test_nobody_listens():
    with pytest.raises(Unreachable):
        send_request("It", adapter_of(f"http://127.0.0.1:{free_port()}"), "GET", "/")


def adapter_with_login(keystone: str, service: str) -> adapter.Adapter:
    account = {"username": "nova", "password": "wrong", "project_name": "service"}
    domains = {"user_domain_id": "default", "project_domain_id": "default"}
    login = v3.Password(f"{keystone}/v3", **account, **domains)
    return adapter.Adapter(session.Session(auth=login), endpoint_override=service)


def test_an_account_that_keystone_refuses_is_told_from_one_without_a_role():
    words = {"error": {"message": "The request requires authentication."}}
    with answering({"POST /v3/auth/tokens": Reply(401, words)}) as keystone:
        asking = adapter_with_login(keystone, keystone)
        with pytest.raises(LoginRefused):
            send_request("It", asking, "GET", "/x")


def test_a_keystone_that_does_not_answer_is_named():
    asking = adapter_with_login(f"http://127.0.0.1:{free_port()}", "http://127.0.0.1:1")
    with pytest.raises(Unreachable) as silent:
        send_request("It", asking, "GET", "/x")
    assert (silent.value.source, silent.value.cause) == ("Keystone", Cause.UNKNOWN)


def test_a_connection_that_is_not_encrypted_is_told_as_that():
    with answering({}) as url, pytest.raises(Unreachable) as silent:
        send_request("It", adapter_of(url.replace("http:", "https:")), "GET", "/x")
    assert (silent.value.source, silent.value.cause) == ("It", Cause.TLS)


def test_a_proxy_that_does_not_answer_is_told(monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unreachable) as silent:
        send_request("It", adapter_of("http://placement.example.org"), "GET", "/x")
    assert silent.value.cause == Cause.PROXY


@contextlib.contextmanager
def closing_once() -> Iterator[tuple[str, list[bytes]]]:
    """The URL of a server that closes its first connection, and what each brought."""
    brought: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        for answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    brought.append(connection.recv(1 << 16))
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve, args=(listening,))
        server.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", brought
        # Nobody else comes: the second accept ends.
        listening.shutdown(socket.SHUT_RDWR)
        server.join()


def test_a_connection_that_is_closed_meanwhile_is_nothing_to_what_reads():
    with closing_once() as (url, brought):
        assert document_of("It", send_request("It", adapter_of(url), "GET", "/x")) == {}
    assert [one.split(b" ")[0] for one in brought] == [b"GET", b"GET"]


def test_a_write_is_sent_once():
    with closing_once() as (url, brought), pytest.raises(Unreachable):
        send_request("It", adapter_of(url), "PUT", "/x", json={})
    assert len(brought) == 1


class NeverAnswers(requests.adapters.BaseAdapter):
    """A server that answers nothing in time; `asked` has each request's timeout."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        self.asked.append(options["timeout"])
        raise requests.ReadTimeout

    def close(self) -> None:
        """There is nothing to release."""


def test_a_request_that_is_not_answered_in_time_is_not_repeated():
    server, asking = NeverAnswers(), requests.Session()
    asking.mount("http://", server)
    connected = session.Session(auth=noauth.NoAuth(), session=asking, timeout=60)
    to_it = adapter.Adapter(connected, endpoint_override="http://it")
    with pytest.raises(Unreachable) as silent:
        send_request("It", to_it, "GET", "/x")
    assert server.asked == [60]
    assert "timed out" in silent.value.reason


@pytest.mark.parametrize("error", [KeyError, IndexError, TypeError, AttributeError, ValueError])
def test_a_malformed_document_raises_unreachable(error):
    with pytest.raises(Unreachable), well_formed("It"):
        raise error


def test_an_answer_that_is_nested_too_deeply_is_malformed():
    with pytest.raises(Unreachable), well_formed("It"):
        raise RecursionError
