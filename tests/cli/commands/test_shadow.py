# SPDX-License-Identifier: Apache-2.0
"""trueup shadow, with upstream's Placement and ours on one database."""

import http.client
import queue
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy

from tests.cli.running import trueup
from tests.placement.client import UUID, Client
from tests.servers.placement import placement_server
from tests.servers.processes import free_port
from trueup.exit_codes import ExitCode
from trueup.placement.app import make_app
from trueup.placement.store import schema

LINE = '10.0.0.9 "GET /placement{}" status: 200 len: 1 microversion: {}'
PATHS = (
    "/resource_providers",
    f"/resource_providers/{UUID(1)}",
    f"/resource_providers/{UUID(1)}/inventories",
    f"/resource_providers/{UUID(1)}/allocations",
    f"/resource_providers/{UUID(9)}",
    f"/allocations/{UUID(100)}",
    "/traits?name=startswith:HW_CPU",
    "/resource_classes",
    "/usages?project_id=a-project",
    "/allocation_candidates?resources=VCPU:1",
    "/allocation_candidates?resources=VCPU:1&limit=2",
    "/allocation_candidates?resources=VCPU:100",
    "/allocation_candidates?resources=NOTHING:1",
)


@dataclass(frozen=True)
class Both:
    upstream: str
    trueup: str
    database: str


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Iterator[Both]:
    url = f"sqlite:///{tmp_path_factory.mktemp('shadow') / 'placement.sqlite'}"
    schema.create(url)
    with closing(make_app(url, {"api": {"auth_strategy": "noauth2"}})) as application:
        client = Client(application)
        for number in range(1, 6):
            client.make_provider(number, inventories={"VCPU": 8})
        client.claim(100, {1: {"VCPU": 2}})
    with (
        placement_server("upstream", url) as upstream,
        placement_server("trueup", url) as ours,
    ):
        yield Both(upstream.url, ours.url, url)


@pytest.fixture(autouse=True)
def _no_cloud(monkeypatch):
    for name in ("OS_CLOUD", "OS_AUTH_URL", "OS_AUTH_TYPE", "OS_ENDPOINT", "OS_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def shadow(both: Both, *words: object):
    return trueup(
        "shadow", "--against", both.upstream, "--service", both.trueup, "--pause", "0", *words
    )


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "placement.log"
    lines = [LINE.format(path_, version) for path_ in PATHS for version in ("1.39", "1.12")]
    path.write_text("\n".join([*lines, lines[0], 'x "PUT /placement/traits/A" status: 201 len: - '
                               "microversion: 1.6"]))  # fmt: skip
    return path


def test_both_answer_the_same(both, log):
    ran = shadow(both, "--from-log", log, "-f", "json")
    found = ran.json()
    assert found["different"] == []
    assert (ran.code, found["reads"], found["same"]) == (ExitCode.CLEAN, 26, 26)
    assert {one["route"] for one in found["timings"]} >= {"/allocation_candidates", "all"}
    assert "27 reads in the log, 26 of them distinct; 1 write left out." in ran.err


def test_a_difference_is_told_and_ends_with_3(both, log, tmp_path):
    """Against a service of another ledger."""
    url = f"sqlite:///{tmp_path / 'other.sqlite'}"
    schema.create(url)
    with placement_server("trueup", url) as other:
        ran = shadow(Both(both.upstream, other.url, url), "--from-log", log, "-f", "json")
    assert ran.code == ExitCode.FINDINGS
    reported = {one["path"]: one["differences"][0] for one in ran.json()["different"]}
    assert reported[f"/resource_providers/{UUID(1)}"] == {
        "where": "status",
        "upstream": "200",
        "trueup": "404",
    }
    assert reported["/allocation_candidates?resources=VCPU:1"]["where"] == "allocation_requests"
    assert "/resource_classes" not in reported


def test_a_table_has_a_row_for_each_difference(both, log, tmp_path):
    url = f"sqlite:///{tmp_path / 'other.sqlite'}"
    schema.create(url)
    with placement_server("trueup", url) as other:
        ran = shadow(
            Both(both.upstream, other.url, url), "--from-log", log, "-f", "value", "--limit", 3
        )
    assert f"/resource_providers/{UUID(1)} 1.39 status 200 404" in ran.out
    assert "3 distinct reads: 0 the same, 0 the same when asked again, 3 different" in ran.err


def test_refused_credentials_are_not_taken_for_equal_answers(both, log, monkeypatch):
    monkeypatch.setenv("OS_AUTH_TYPE", "admin_token")
    monkeypatch.setenv("OS_ENDPOINT", both.upstream)
    monkeypatch.setenv("OS_TOKEN", "nobody")
    ran = shadow(both, "--from-log", log, "-f", "json", "--limit", "1")
    assert ran.code == ExitCode.INCOMPLETE
    assert "HTTP 403" in ran.json()["not_compared"][0]["reason"]


def test_a_service_that_does_not_answer_is_one_sentence(both, log):
    gone = Both(f"http://127.0.0.1:{free_port()}", both.trueup, "")
    ran = shadow(gone, "--from-log", log)
    assert ran.code == ExitCode.INCOMPLETE
    assert ran.err.startswith("trueup: upstream at http://127.0.0.1")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from-log", "/no/such/file"], "cannot be read: No such file or directory"),
        (["--from-log", "/dev/null"], "of 0 lines none is a read"),
        (["--from-log", "x", "--seconds", "5"], "--seconds: it would be ignored"),
        (["--mirror", "1234", "--microversion", "1.2"], "--microversion: it would be ignored"),
        (["--mirror", "1234", "--seconds", "0"], "--seconds: 0 makes no sense"),
        (["--from-log", "x", "--pause", "-1"], "--pause: -1 makes no sense"),
    ],
)
def test_options_that_make_no_sense_are_refused(both, words, says):
    ran = shadow(both, *words)
    assert ran.code == ExitCode.USAGE
    assert says in ran.err


@pytest.mark.parametrize(("option", "host"), [("{}", "127.0.0.1"), ("[::1]:{}", "::1")])
def test_reads_through_a_mirror_are_compared(both, option, host):
    port = free_port()
    statuses: queue.Queue[int] = queue.Queue()

    def ask(path: str) -> None:
        while True:
            try:
                with closing(http.client.HTTPConnection(host, port, timeout=30)) as to:
                    headers = {
                        "X-Auth-Token": "admin",
                        "OpenStack-API-Version": "placement 1.39",
                    }
                    to.request("GET", path, headers=headers)
                    statuses.put(to.getresponse().status)
                    return
            except ConnectionRefusedError:
                continue

    asking = [threading.Thread(target=ask, args=(path,)) for path in PATHS[:3]]
    for one in asking:
        one.start()
    ran = shadow(both, "--mirror", option.format(port), "--limit", "3", "-f", "json")
    for one in asking:
        one.join()
    assert sorted(statuses.queue) == [200, 200, 200]
    assert (ran.code, ran.json()["same"]) == (ExitCode.CLEAN, 3)


def test_nothing_was_written(both):
    engine = sqlalchemy.create_engine(both.database)
    with engine.connect() as connection:
        count = connection.execute(sqlalchemy.text("SELECT count(*) FROM resource_providers"))
        assert count.scalar() == 5
    engine.dispose()
