# SPDX-License-Identifier: Apache-2.0
"""A private Prometheus with the examples of packaging/monitoring, and its checker `promtool`."""

import http.client
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.servers.processes import ProgramMissing, ServerProgram, find_program, serving
from tests.servers.skipping import skip_without
from tests.tree import REPOSITORY

MONITORING = REPOSITORY / "packaging" / "monitoring"
PACKAGE = "prometheus"


def _program(name: str) -> str:
    try:
        return find_program(name, PACKAGE)
    except ProgramMissing as missing:
        skip_without(str(missing))


def promtool(*words: str) -> str:
    """What it prints. It must be content with what it checks."""
    program = _program("promtool")
    ran = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@contextmanager
def prometheus(folder: Path, targets: Mapping[int, int]) -> Iterator[int]:
    """The port of a Prometheus with our configuration. `targets`: for each port that the
    configuration names, the port to scrape in its place."""
    for path in (MONITORING / "prometheus.yml", *MONITORING.glob("*.rules.yml")):
        text = path.read_text().replace("15s", "200ms")
        for documented, port in targets.items():
            text = text.replace(f":{documented}", f":{port}")
        (folder / path.name).write_text(text)
    program = _program("prometheus")

    def command(port: int) -> list[str]:
        return [
            program,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'series'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]

    def is_ready(port: int) -> bool:
        try:
            return _asked(port, "/-/ready")[0] == 200
        except OSError:
            return False

    with serving(ServerProgram(command, is_ready, folder / "prometheus.log")) as port:
        yield port


def query(port: int, expression: str) -> list[Any]:
    """The series that an expression gives now. Raises KeyError if it cannot be evaluated."""
    return _document(port, f"/api/v1/query?{urlencode({'query': expression})}")["result"]


def rules(port: int) -> list[Any]:
    """The alert rules of all groups, with their health and state."""
    groups = _document(port, "/api/v1/rules")["groups"]
    return [rule for group in groups for rule in group["rules"]]


def names(port: int) -> set[str]:
    """The names of all series that were scraped."""
    return set(_document(port, "/api/v1/label/__name__/values"))


def _document(port: int, path: str) -> Any:
    return json.loads(_asked(port, path)[1])["data"]


def _asked(port: int, path: str) -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as asking:
        asking.request("GET", path)
        answer = asking.getresponse()
        return answer.status, answer.read().decode()
