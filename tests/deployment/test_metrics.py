# SPDX-License-Identifier: Apache-2.0
"""The metrics of a service with several workers, scraped by a real Prometheus."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deployment.processes import Process, server
from tests.deployment.test_web_servers import ADMIN, serve, uwsgi, written
from tests.placement.metrics.conftest import read
from tests.servers.processes import ServerProgram, find_program, poll, serving
from tests.tree import REPOSITORY
from trueup.placement.store import schema

MONITORING = REPOSITORY / "packaging" / "monitoring"
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


def promtool(*words: str) -> str:
    program = find_program("promtool", "prometheus")
    ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_promtool_accepts_the_examples():
    assert "SUCCESS" in promtool("check", "config", str(MONITORING / "prometheus.yml"))
    assert "SUCCESS" in promtool(
        "test", "rules", str(MONITORING / "trueup-placement.rules.test.yml")
    )


def exposed(text: str) -> set[str]:
    """The names of all samples."""
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines() if line[:1] != "#"}


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[int]:
    """A Prometheus with our configuration, for a service on another port."""
    for name in ("prometheus.yml", "trueup-placement.rules.yml"):
        shutil.copy(MONITORING / name, folder / name)
    config = folder / "prometheus.yml"
    text = config.read_text().replace(":8778", f":{target}").replace("15s", "200ms")
    config.write_text(text)
    program = find_program("prometheus", "prometheus")

    def command(port: int) -> list[str]:
        return [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'series'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]

    def is_ready(port: int) -> bool:
        try:
            return asked_prometheus(port, "/-/ready")[0] == 200
        except OSError:
            return False

    with serving(ServerProgram(command, is_ready, folder / "prometheus.log")) as port:
        yield port


def asked_prometheus(port: int, path: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as asking:
        asking.request("GET", path)
        answer = asking.getresponse()
        return answer.status, answer.read().decode()


def query(port: int, expression: str) -> list[Any]:
    path = f"/api/v1/query?{urlencode({'query': expression})}"
    return json.loads(asked_prometheus(port, path)[1])["data"]["result"]


def test_prometheus_scrapes_it_and_evaluates_the_alerts(fresh_database, tmp_path):
    with metered(uwsgi, tmp_path, fresh_database("sqlite")) as placement:
        placement.get("/resource_providers", **ADMIN)
        placement.get("/allocation_candidates?resources=VCPU:1", **ADMIN)
        text = scraped(placement)
        with prometheus(tmp_path, placement.port) as port:
            up = 'up{job="trueup-placement"} == 1'
            assert poll(lambda: bool(query(port, up)), 30)
            counted = 'trueup_placement_request_seconds_count{route="/resource_providers"}'
            assert poll(lambda: bool(query(port, counted)), 30)
            assert query(port, counted)[0]["value"][1] == "1"
            (rules,) = json.loads(asked_prometheus(port, "/api/v1/rules")[1])["data"]["groups"]
            assert "err" not in {rule["health"] for rule in rules["rules"]}
            known = set(
                json.loads(asked_prometheus(port, "/api/v1/label/__name__/values")[1])["data"]
            )
    assert exposed(text) <= known


def test_the_dashboard_is_a_document_whose_panels_ask_something():
    board = json.loads((MONITORING / "trueup-placement-dashboard.json").read_text())
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) == 12
    assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])
