# SPDX-License-Identifier: Apache-2.0
"""The metrics of a service with several workers, scraped by a real Prometheus."""

import http.client
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.processes import Process, server
from tests.deployment.test_web_servers import ADMIN, serve, uwsgi, written
from tests.placement.metrics.conftest import read
from tests.servers.processes import poll
from tests.servers.prometheus import MONITORING, names, prometheus, promtool, query, rules
from trueup.placement.store import schema

PROVIDERS = ("request_seconds_count", "GET", "/resource_providers", "200")


@contextmanager
def metered(command: Any, folder: Path, url: str) -> Iterator[Process]:
    """A server whose metrics are in a folder below this one."""
    schema.create(url)
    more = f"[trueup]\nmetrics_path = /metrics\nmetrics_folder = {folder}/metrics\n"
    with server(command, folder, written(folder, url, more)) as placement:
        yield placement


def scraped(placement: Process) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", placement.port, timeout=30)) as asking:
        asking.request("GET", "/metrics")
        answer = asking.getresponse()
        assert answer.status == 200
        return answer.read().decode()


def workers(folder: Path) -> set[int]:
    """The processes that answered requests."""
    found = (re.fullmatch(r"histogram_(\d+)", path.stem) for path in folder.glob("metrics/*.db"))
    return {int(one[1]) for one in found if one} - {0}


@pytest.mark.parametrize("command", [uwsgi, serve])
def test_any_worker_has_the_metrics_of_all(fresh_database, tmp_path, command):
    with metered(command, tmp_path, fresh_database("mariadb")) as placement:
        asked = 0
        while asked < 10 or len(workers(tmp_path)) < 2:
            assert placement.get("/resource_providers", **ADMIN)[0] == 200
            asked += 1
            assert asked < 1000
        for _ in range(6):
            assert read(scraped(placement))[PROVIDERS] == asked


def test_a_killed_worker_leaves_its_counts(fresh_database, tmp_path):
    with metered(uwsgi, tmp_path, fresh_database("sqlite")) as placement:
        for _ in range(20):
            placement.get("/resource_providers", **ADMIN)
        master = placement.process.pid
        killed = min(workers(tmp_path) - {master})
        os.kill(killed, signal.SIGKILL)
        assert poll(lambda: not Path(f"/proc/{killed}").exists(), 30)
        found = read(scraped(placement))
        assert found[PROVIDERS] == 20
        assert killed not in workers(tmp_path)


def test_promtool_accepts_the_examples():
    assert "SUCCESS" in promtool("check", "config", str(MONITORING / "prometheus.yml"))
    tests = sorted(MONITORING.glob("*.rules.test.yml"))
    assert len(tests) == 2
    assert "SUCCESS" in promtool("test", "rules", *map(str, tests))


def exposed(text: str) -> set[str]:
    """The names of all samples."""
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[:1] != "#"}


def test_prometheus_scrapes_it_and_evaluates_the_alerts(fresh_database, tmp_path):
    with metered(uwsgi, tmp_path, fresh_database("sqlite")) as placement:
        placement.get("/resource_providers", **ADMIN)
        placement.get("/allocation_candidates?resources=VCPU:1", **ADMIN)
        text = scraped(placement)
        with prometheus(tmp_path, {8778: placement.port}) as port:
            up = 'up{job="trueup-placement"} == 1'
            assert poll(lambda: bool(query(port, up)), 30)
            counted = 'trueup_placement_request_seconds_count{route="/resource_providers"}'
            assert poll(lambda: bool(query(port, counted)), 30)
            assert query(port, counted)[0]["value"][1] == "1"
            assert poll(lambda: {rule["health"] for rule in rules(port)} == {"ok"}, 30)
            known = names(port)
    assert exposed(text) <= known


def test_the_dashboard_is_a_document_whose_panels_ask_something():
    board = json.loads((MONITORING / "trueup-placement-dashboard.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) == 12
    assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])
