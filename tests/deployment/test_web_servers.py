# SPDX-License-Identifier: Apache-2.0
"""The service in the servers that deployments use."""

import os
import signal
import socket
import subprocess
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.clouds.damage import execute
from tests.deployment.processes import SCRIPTS, SECONDS_TO_STOP, Process, server, trueup
from tests.servers.haproxy import haproxy_before_service
from tests.servers.processes import free_port, poll
from trueup.placement.store import schema

ADMIN = {"x_auth_token": "admin", "openstack_api_version": "placement 1.39"}


def written(folder: Path, url: str, more: str = "") -> dict[str, str]:
    """The environment that names a placement.conf."""
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = {url}\n[api]\nauth_strategy = noauth2\n{more}"
    )
    return {"OS_PLACEMENT_CONFIG_DIR": str(folder)}


def uwsgi(port: int) -> list[str]:
    options = "--master --enable-threads --processes 2 --threads 2 --die-on-term --need-app"
    return [
        str(SCRIPTS / "uwsgi"),
        *options.split(),
        "--http-socket",
        f"127.0.0.1:{port}",
        "--module",
        "trueup.wsgi:application",
    ]


def serve(port: int) -> list[str]:
    return trueup("serve", "--port", str(port), "--workers", "2", "--host", "localhost")


def test_uwsgi(fresh_database, tmp_path):
    url = fresh_database("mariadb")
    schema.create(url)
    with server(uwsgi, tmp_path, written(tmp_path, url)) as placement:
        statuses = [placement.get("/resource_providers", **ADMIN)[0] for _ in range(8)]
        assert statuses == [200] * 8
        assert placement.get("/resource_providers")[0] == 401
        placement.stop()
    assert "placement.requestlog" in placement.log.read_text()


def test_serving_what_placement_conf_says(fresh_database, tmp_path):
    url = fresh_database("postgresql")
    schema.create(url)
    environment = written(tmp_path, url, "[DEFAULT]\ndebug = true\n")
    with server(serve, tmp_path, environment) as placement:
        assert placement.get("/resource_providers")[0] == 401
        assert placement.get("/resource_providers", **ADMIN)[0] == 200
        assert placement.stop() == 0
    log = placement.log.read_text()
    assert (
        f"trueup: the Placement API of placement.conf on http://127.0.0.1:{placement.port}" in log
    )
    assert "placement_database.connection" in log
    assert str(make_url(url).password) not in log


def test_an_embedded_service_keeps_its_ledger(tmp_path):
    environment = {"TRUEUP_STATE_DIR": str(tmp_path / "state")}
    for _ in range(2):
        with server(serve, tmp_path, environment) as placement:
            status, body = placement.get("/resource_classes/VCPU", **ADMIN)
            assert (status, body["name"]) == (200, "VCPU")
            assert placement.stop() == 0
    assert (tmp_path / "state" / "placement.sqlite").is_file()


def test_a_service_that_is_starting_stops(tmp_path):
    command = trueup("serve", "--port", str(free_port()), "--workers", "2")
    environment = {**os.environ, "TRUEUP_STATE_DIR": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as serving:
        assert any(b"an embedded Placement API" in line for line in serving.stderr)
        # Its workers are forked after this line, with its own handlers.
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(SECONDS_TO_STOP) == 0


HALF = (
    b"POST /resource_providers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n{"
)


def test_no_worker_outlives_a_server_that_was_killed(tmp_path):
    """Otherwise they would keep its port, and the next start would fail."""
    environment = {"TRUEUP_STATE_DIR": str(tmp_path)}
    with server(serve, tmp_path, environment) as placement:
        placement.process.kill()
        placement.process.wait()
        assert poll(lambda: not placement.answers(), SECONDS_TO_STOP)


def test_a_service_whose_messages_cannot_be_written_serves(tmp_path):
    port = free_port()
    environment = {**os.environ, "TRUEUP_STATE_DIR": str(tmp_path)}
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(serve(port), stdout=full, stderr=full, env=environment) as serving,
    ):
        placement = Process(serving, port, tmp_path)
        try:
            assert poll(lambda: serving.poll() is not None or placement.answers(), 60)
            assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200
        finally:
            serving.terminate()


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", HALF])
def test_clients_that_send_slowly_do_not_reach_uwsgi(fresh_database, tmp_path, sent):
    """Neither half a header nor half a body takes one of its four threads."""
    url = fresh_database("sqlite")
    schema.create(url)
    with (
        server(uwsgi, tmp_path, written(tmp_path, url)) as placement,
        haproxy_before_service(placement.port) as port,
        ExitStack() as slow,
    ):
        for _ in range(8):
            slow.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(sent)
        proxied = replace(placement, port=port)
        for _ in range(4):
            assert proxied.get("/")[0] == 200
            assert proxied.get("/resource_classes/VCPU", **ADMIN)[0] == 200


IMPATIENT = """
from trueup.placement.middleware import silent_connections

silent_connections.SILENCE_SECONDS_MAX = 2
"""


def test_clients_that_send_slowly_keep_nobody_waiting(tmp_path):
    environment = {"TRUEUP_STATE_DIR": str(tmp_path)}
    with server(serve, tmp_path, environment) as placement, ExitStack() as slow:
        for _ in range(150):
            client = socket.create_connection(("127.0.0.1", placement.port))
            slow.enter_context(client).sendall(HALF)
        for number in range(8):
            assert placement.get("/")[0] == 200
            assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200
            assert placement.put(f"/traits/CUSTOM_{number}", None, **ADMIN) == 201


def test_a_client_that_stops_sending_stops_nobody(tmp_path):
    """It is given up, and others are answered before, then and afterwards."""
    (tmp_path / "sitecustomize.py").write_text(IMPATIENT)
    environment = {"TRUEUP_STATE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    with server(serve_alone, tmp_path, environment) as placement:
        with socket.create_connection(("127.0.0.1", placement.port)) as client:
            client.settimeout(60)
            client.sendall(HALF)
            assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200
            assert client.recv(4096) == b""
        assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200


def serve_alone(port: int) -> list[str]:
    return trueup("serve", "--port", str(port), "--workers", "1", "--threads", "2")


def test_clients_that_keep_connections_open_keep_nobody_out(tmp_path):
    """Nobody of them has a token."""
    environment = {"TRUEUP_STATE_DIR": str(tmp_path)}
    with server(serve_alone, tmp_path, environment) as placement, ExitStack() as idle:
        for _ in range(1100):
            client = idle.enter_context(socket.create_connection(("127.0.0.1", placement.port)))
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
        assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200


FEW_THREADS = """
from trueup.placement.middleware import request_buffering

request_buffering.ANSWERS_MAX = 2
request_buffering.SPARE_THREADS = 4
"""
LARGE = (
    b"GET /resource_providers HTTP/1.1\r\nHost: x\r\nX-Auth-Token: admin\r\n"
    b"OpenStack-API-Version: placement 1.39\r\n\r\n"
)
# 15 MB of them: the system keeps some of an answer for a client that does not read.
PROVIDERS = """
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
    INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id)
    SELECT n, printf('00000000-0000-4000-8000-%012d', n), printf('host-%d', n), 0, n FROM numbers
"""


def test_clients_that_read_slowly_keep_nobody_waiting(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(FEW_THREADS)
    url = f"sqlite:///{tmp_path / 'placement.sqlite'}"
    schema.create(url)
    execute(url, PROVIDERS)
    environment = {**written(tmp_path, url), "PYTHONPATH": str(tmp_path)}
    with server(serve_alone, tmp_path, environment) as placement, ExitStack() as slow:
        for _ in range(9):
            client = slow.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", placement.port))
            client.sendall(LARGE)
        for _ in range(4):
            assert placement.get("/")[0] == 200
            assert placement.get("/resource_classes/VCPU", **ADMIN)[0] == 200


SLOW = """
import time, threading
from trueup.placement import app

class Slow:
    def __init__(self, application):
        self.application = application
    def __call__(self, environ, start_response):
        if environ["QUERY_STRING"] == "slow":
            open("asked", "w").close()
            time.sleep(4)
        return self.application(environ, start_response)
    def close(self):
        self.application.close()

make = app.make_embedded_service
app.make_embedded_service = lambda settings, **more: Slow(make(settings, **more))
"""


def test_a_request_under_way_is_answered_before_the_end(tmp_path):
    """Also if it takes seconds, in which its worker is told several times to end."""
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    environment = {"TRUEUP_STATE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    answers = []
    with server(serve, tmp_path, environment) as placement:
        asking = threading.Thread(target=lambda: answers.append(placement.get("/?slow")))
        asking.start()
        assert poll((tmp_path / "asked").exists, 30)
        placement.process.send_signal(signal.SIGTERM)
        asking.join()
        assert placement.process.wait(30) == 0
    assert [status for status, _ in answers] == [200]
    assert not placement.answers()
