# SPDX-License-Identifier: Apache-2.0
"""A service with several workers that sends its traces to a real Redis."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from osprofiler import profiler, web
from osprofiler.drivers.redis_driver import Redis

from tests.deployment.processes import server
from tests.deployment.test_web_servers import ADMIN, serve, uwsgi, written
from tests.servers.processes import ProgramMissing, ServerProgram, find_program, serving
from tests.servers.skipping import skip_without
from trueup.placement.store import schema

OPTIONS = """
[profiler]
enabled = true
trace_sqlalchemy = true
hmac_keys = another-key,a-key
connection_string = {url}
"""


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[str]:
    """The URL of a Redis without anything in it."""
    try:
        program = find_program("redis-server", "redis-server")
    except ProgramMissing as missing:
        skip_without(str(missing))

    def command(port: int) -> list[str]:
        return [program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""]

    def is_ready(port: int) -> bool:
        try:
            with redis.Redis(port=port) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    with serving(ServerProgram(command, is_ready, tmp_path / "redis.log")) as port:
        yield f"redis://127.0.0.1:{port}"


def signed() -> tuple[str, dict[str, str]]:
    """The ID of a new trace, and the headers of a request that belongs to it."""
    profiler.init("a-key")
    trace, headers = profiler.get().get_base_id(), web.get_trace_id_headers()
    profiler.clean()
    return trace, headers


def spans(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in report["children"]:
        yield child["info"]
        yield from spans(child)


@pytest.mark.parametrize("command", [uwsgi, serve])
def test_osprofiler_shows_the_trace_of_each_request(fresh_database, collector, tmp_path, command):
    url = fresh_database("sqlite")
    schema.create(url)
    environment = written(tmp_path, url, OPTIONS.format(url=collector))
    with server(command, tmp_path, environment) as placement:
        for _ in range(6):
            trace, headers = signed()
            assert placement.get("/resource_providers", **ADMIN, **headers)[0] == 200
            assert placement.get("/resource_providers", **ADMIN)[0] == 200
            request, *statements = spans(Redis(collector, conf={}).get_report(trace))
            assert (request["name"], request["project"]) == ("wsgi", "placement")
            path = request["meta.raw_payload.wsgi-start"]["info"]["request"]["path"]
            assert path == "/resource_providers"
            assert statements
            assert {one["name"] for one in statements} == {"db"}
        assert len(Redis(collector, conf={}).list_traces()) == 6
