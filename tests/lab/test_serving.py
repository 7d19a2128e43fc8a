# SPDX-License-Identifier: Apache-2.0
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Barrier
from urllib.parse import urlsplit

from trueup.lab.serving import serve


def echo(environ, start_response):
    """A WSGI application that answers with the request it received."""
    if environ["PATH_INFO"] == "/broken":
        raise RuntimeError("broken on purpose")
    said = {
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"],
        "query": environ["QUERY_STRING"],
        "token": environ.get("HTTP_X_AUTH_TOKEN"),
        "body": environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode(),
    }
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(said).encode()]


def connect(url: str) -> HTTPConnection:
    where = urlsplit(url)
    assert where.hostname == "127.0.0.1"
    return HTTPConnection(where.hostname, where.port, timeout=10)


def ask(connection: HTTPConnection, path: str = "/") -> int:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_a_request_arrives_as_it_was_sent():
    with serve(echo) as url:
        connection = connect(url)
        connection.request("PUT", "/a%20b?c=d", body=b"text", headers={"X-Auth-Token": "admin"})
        said = json.load(connection.getresponse())
        connection.close()
    assert said == {
        "method": "PUT",
        "path": "/a b",
        "query": "c=d",
        "token": "admin",
        "body": "text",
    }


def test_an_application_that_raises_is_answered_with_500():
    with serve(echo) as url:
        connection = connect(url)
        assert ask(connection, "/broken") == 500
        connection.close()


def test_requests_run_in_parallel():
    together = Barrier(4, timeout=10)

    def application(environ, start_response):
        together.wait()
        start_response("204 No Content", [])
        return []

    with serve(application) as url, ThreadPoolExecutor(4) as pool:
        connections = [connect(url) for _ in range(4)]
        assert list(pool.map(ask, connections)) == [204] * 4
        for connection in connections:
            connection.close()


def test_the_port_is_free_after_the_block():
    with serve(echo) as url:
        connection = connect(url)
        ask(connection)
        connection.close()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", urlsplit(url).port)) != 0
