# SPDX-License-Identifier: Apache-2.0
"""Services that are stopped, slow, or answer every request with an error."""

import contextlib
import http.client
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.real.cloud.openstack import Cloud
from tests.real.cloud.processes import answers_http, wait_until
from tests.real.cloud.rabbitmq import restart_rabbitmq
from tests.real.cloud.site import CELL_OF_COMPUTE, HOST

SECONDS_TO_RECOVER = 240


@contextlib.contextmanager
def stopped_database(cloud: Cloud) -> Iterator[None]:
    """Nobody reaches the database of FRAGILE_CELL; at the end its hosts work again."""
    before = cloud.report_counts()
    cloud.relay.cut()
    try:
        yield
    finally:
        cloud.relay.mend()
        _wait_for_reports(cloud, before)


@contextlib.contextmanager
def stopped_rabbitmq(cloud: Cloud) -> Iterator[None]:
    """No service of Nova or Neutron can send a message; at the end all hosts work again."""
    cloud.processes.stop("rabbitmq")
    before = cloud.report_counts()
    try:
        yield
    finally:
        restart_rabbitmq(cloud.site, cloud.processes)
        _wait_for_reports(cloud, before)


@contextlib.contextmanager
def failing_neutron(cloud: Cloud) -> Iterator[None]:
    """At Neutron's address, every request is answered with 500."""
    cloud.processes.stop("neutron-api")
    port = cloud.site.ports["neutron"]
    try:
        with _serving(port, _Failing):
            yield
    finally:
        cloud.start_neutron()
        wait_until(lambda: answers_http(port), "Neutron answers")


@contextlib.contextmanager
def slow_keystone(cloud: Cloud, seconds: float) -> Iterator[str]:
    """The address of a keystone that answers each request so much later."""

    class Slow(_Forwarding):
        delay_seconds = seconds
        target = cloud.site.ports["keystone"]

    with _serving(0, Slow) as port:
        yield f"http://{HOST}:{port}/v3"


def _wait_for_reports(cloud: Cloud, before: dict[str, int]) -> None:
    def all_report() -> bool:
        now = cloud.report_counts()
        return all(now[host] > before[host] for host in CELL_OF_COMPUTE)

    wait_until(all_report, "every host reports again", SECONDS_TO_RECOVER)


@contextlib.contextmanager
def _serving(port: int, handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    server = ThreadingHTTPServer((HOST, port), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: the tests look at what the clients say."""

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))


class _Failing(_Quiet):
    def answer(self) -> None:
        self._body()
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = do_DELETE = answer


class _Forwarding(_Quiet):
    delay_seconds: float
    target: int

    def answer(self) -> None:
        body = self._body()
        time.sleep(self.delay_seconds)
        connection = http.client.HTTPConnection(HOST, self.target, timeout=60)
        with contextlib.closing(connection):
            connection.request(self.command, self.path, body, dict(self.headers))
            answered = connection.getresponse()
            content = answered.read()
        self.send_response(answered.status)
        for name, value in answered.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer
