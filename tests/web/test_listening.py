# SPDX-License-Identifier: Apache-2.0
import socket

import pytest
import requests

from trueup.web.errors import AddressUnusable
from trueup.web.listening import RequestHandler, listening

LOOPBACK = "127.0.0.1"


class Echo(RequestHandler):
    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)


@pytest.mark.parametrize(("host", "shown"), [(LOOPBACK, LOOPBACK), ("::1", "[::1]")])
def test_each_method_of_the_handler_answers(host, shown):
    with listening(host, 0, Echo) as port:
        url = f"http://{shown}:{port}/"
        assert requests.put(url, data="some words", timeout=30).text == "some words"
        assert requests.get(url, timeout=30).status_code == 501


def test_it_says_nothing_of_clients_even_of_those_that_hang_up(capfd):
    with listening(LOOPBACK, 0, Echo) as port:
        with socket.create_connection((LOOPBACK, port), timeout=30) as client:
            client.sendall(b"PUT / HTTP/1.0\r\nContent-Length: 5\r\n\r\nab")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert requests.put(f"http://{LOOPBACK}:{port}/", data="x", timeout=30).text == "x"
    assert capfd.readouterr().err == ""


def test_an_address_that_is_taken_is_refused():
    with (
        listening(LOOPBACK, 0, Echo) as port,
        pytest.raises(AddressUnusable) as refused,
        listening(LOOPBACK, port, Echo),
    ):
        pass
    assert refused.value.address == f"{LOOPBACK}:{port}"
    assert refused.value.reason == "Address already in use"
