# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import socket
from contextlib import closing

import pytest

from tests.servers.placement import placement_server
from tests.servers.processes import free_port
from trueup.placement.store import schema
from trueup.shadow.mirror import mirror
from trueup.shadow.reads import Read
from trueup.web.listening import RequestHandler, listening

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.20"}


def asked(address, method, path, body=None, headers=HEADERS):
    with closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        more = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**headers, **more})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


@pytest.fixture(scope="module")
def upstream(fresh_module_database):
    with placement_server("upstream", fresh_module_database) as server:
        yield server.url


@pytest.fixture(scope="module")
def fresh_module_database(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('mirror') / 'placement.sqlite'}"
    schema.create(url)
    return url


def test_everything_is_passed_on_and_reads_are_noted(upstream):
    noted = []
    host, _, port = upstream.removeprefix("http://").partition(":")
    direct = (host, int(port))
    with mirror(("127.0.0.1", 0), upstream, noted.append) as address:
        made = asked(address, "POST", "/resource_providers", json.dumps({"name": "one"}))
        assert made[0] == 200
        for path in ("/resource_providers", "/traits?name=in:HW_CPU_X86_AVX", "/nowhere"):
            there, here = (asked(to, "GET", path) for to in (direct, address))
            assert here[0] == there[0]
            assert here[0] == 404 or here[1] == there[1]
            assert here[2]["openstack-api-version"] == "placement 1.20"
        uuid = json.loads(made[1])["uuid"]
        assert asked(address, "DELETE", f"/resource_providers/{uuid}")[0] == 204
        assert asked(address, "GET", f"/resource_providers/{uuid}")[0] == 404
        assert asked(address, "GET", "/traits", headers={})[0] == 401
    assert noted == [
        Read("/resource_providers", "1.20"),
        Read("/traits?name=in:HW_CPU_X86_AVX", "1.20"),
        Read(f"/resource_providers/{uuid}", "1.20"),
        Read("/traits", None),
    ]


def test_a_body_in_chunks_reaches_upstream_whole(upstream):
    parts = json.dumps({"name": "in-chunks"}).encode().partition(b":")
    with (
        mirror(("127.0.0.1", 0), upstream, lambda read: None) as address,
        closing(http.client.HTTPConnection(*address, timeout=30)) as connection,
    ):
        kind = {"Content-Type": "application/json", "Expect": "100-continue"}
        connection.request(
            "POST", "/resource_providers", iter(parts), {**HEADERS, **kind}, encode_chunked=True
        )
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["name"]) == (200, "in-chunks")


def test_half_a_body_never_reaches_upstream(upstream):
    whole = json.dumps({"name": "cut-off"}).encode()
    head = (
        "POST /resource_providers HTTP/1.1\r\nHost: x\r\nX-Auth-Token: admin\r\n"
        "OpenStack-API-Version: placement 1.20\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(whole) + 1}\r\n\r\n"
    )
    with mirror(("127.0.0.1", 0), upstream, lambda read: None) as address:
        with socket.create_connection(address, timeout=30) as client:
            client.sendall(head.encode() + whole)
            client.shutdown(socket.SHUT_WR)
            assert b" 400 the body ends too early" in client.makefile("rb").readline()
        found = json.loads(asked(address, "GET", "/resource_providers?name=cut-off")[1])
    assert found["resource_providers"] == []


class _Repeating(RequestHandler):
    """Answers with the headers that it got, and with two of one name."""

    def do_GET(self) -> None:
        self.send_response_only(200)
        self.send_header("Set-Cookie", "a=1")
        self.send_header("Set-Cookie", "b=2, three")
        self.end_headers()
        self.wfile.write(json.dumps(self.headers.items()).encode())


def test_a_header_that_comes_twice_is_passed_on_twice():
    wanted = [("X-Roles", "reader"), ("X-Roles", "member, admin"), ("X-Auth-Token", "admin")]
    with (
        listening("127.0.0.1", 0, _Repeating) as port,
        mirror(("127.0.0.1", 0), f"http://127.0.0.1:{port}", lambda read: None) as address,
        closing(http.client.HTTPConnection(*address, timeout=30)) as connection,
    ):
        connection.putrequest("GET", "/", skip_accept_encoding=True)
        for name, value in wanted:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.headers.get_all("Set-Cookie") == ["a=1", "b=2, three"]
        got = [(name, value) for name, value in json.loads(answer.read())]
    assert [row for row in got if row[0] != "Host"] == wanted


def test_a_write_without_a_body_says_so(upstream):
    """It has a length of 0, as clients send it."""
    with mirror(("127.0.0.1", 0), upstream, lambda read: None) as address:
        assert asked(address, "PUT", "/traits/CUSTOM_WITHOUT_BODY")[0] == 201


def test_without_an_upstream_clients_get_an_answer():
    noted = []
    with mirror(("127.0.0.1", 0), f"http://127.0.0.1:{free_port()}", noted.append) as address:
        assert asked(address, "GET", "/traits")[0] == 502
    assert noted == []
