# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest

from tests.placement.metrics.conftest import read
from trueup.placement.metrics import files

WORKER = """
import os, sys
from pathlib import Path
from trueup.placement.metrics import files
from trueup.placement.metrics.prometheus import PrometheusMeter

files.keep_values_in(Path(sys.argv[1]))
meter = PrometheusMeter()
meter.connections_open(2, 5)
for _ in range(3):
    meter.request_answered("GET", "/", "200", 0.002)
print(os.getpid(), flush=True)
sys.stdin.read()
os._exit(0)
"""
ANSWERS = ("request_seconds_count", "GET", "/", "200")


class Worker:
    """A process that answered three requests, and has two of five connections open."""

    def __init__(self, folder: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.pid = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def workers(tmp_path: Path):
    both = [Worker(tmp_path), Worker(tmp_path)]
    yield both
    for worker in both:
        worker.kill()


def scraped(folder: Path) -> dict[tuple[str, ...], float]:
    return read(files.scrape(folder, "")[1].decode())


def test_the_values_of_all_processes_are_added(workers, tmp_path):
    found = scraped(tmp_path)
    assert found[ANSWERS] == 6
    assert found["database_connections",] == 4
    assert found["database_connections_max",] == 10


def test_a_dead_process_leaves_its_counts_and_nothing_else(workers, tmp_path):
    dead, alive = workers
    dead.kill()
    for _ in range(2):
        found = scraped(tmp_path)
        assert found[ANSWERS] == 6
        assert found["database_connections",] == 2
    assert not list(tmp_path.glob(f"*_{dead.pid}.db"))
    assert list(tmp_path.glob(f"*_{alive.pid}.db"))


def test_many_dead_processes_leave_few_files(tmp_path):
    for rounds in range(1, 4):
        Worker(tmp_path).kill()
        assert scraped(tmp_path)[ANSWERS] == 3 * rounds
        assert {path.name for path in tmp_path.glob("*.db")} == {"counter_0.db", "histogram_0.db"}


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff" * 4096, b"\0\1\0\0" + b"x" * 100])
def test_broken_files_are_left_out(workers, tmp_path, content):
    dead, alive = workers
    dead.kill()
    for path in tmp_path.glob(f"histogram_{dead.pid}.db"):
        path.write_bytes(content)
    (tmp_path / f"counter_{alive.pid + 4_000_000}.db").write_bytes(content)
    assert scraped(tmp_path)[ANSWERS] == 3


def test_the_media_type_is_one_that_the_client_accepts(workers, tmp_path):
    assert files.scrape(tmp_path, "")[0].startswith("text/plain")
    media_type, body = files.scrape(tmp_path, "application/openmetrics-text; version=1.0.0")
    assert media_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
