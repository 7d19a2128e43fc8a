# SPDX-License-Identifier: Apache-2.0
"""`trueup watch`: rounds over a real cloud, which it only reads."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.cli.running import trueup
from tests.servers.processes import dies_with_its_parent, poll
from trueup import lab
from trueup.lab.nova.databases import sqlite_url
from trueup.lab.serving import serve

ONCE = ("watch", "--rounds", 1, "--listen", "127.0.0.1:0")


@pytest.fixture
def methods(small, nova_conf) -> Iterator[list[str]]:
    """The methods of all requests to Placement, which notes them."""
    noted: list[str] = []
    service = lab.trueup_placement(sqlite_url(small.folder / "placement.sqlite"))

    def noting(environ, start_response):
        noted.append(environ["REQUEST_METHOD"])
        return service(environ, start_response)

    with serve(noting) as url:
        nova_conf.write_text(nova_conf.read_text().replace(small.placement_url, url))
        yield noted


def nova_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("nova_*.sqlite")}


def test_it_never_writes_to_the_cloud(small, methods):
    before, files = small.rows(), nova_files(small.folder)
    ran = trueup("watch", "--rounds", 3, "--interval", 0.01, "--listen", "127.0.0.1:0")
    assert ran.code == 3
    assert methods
    assert set(methods) == {"GET"}
    assert (small.rows(), nova_files(small.folder)) == (before, files)


def test_a_round_is_told_and_a_second_start_confirms_it(small, nova_conf, monkeypatch):
    monkeypatch.setattr("trueup.cli.commands.watch.INTERVAL_SECONDS", 0.001)
    first = trueup(*ONCE, "-f", "json")
    [row] = first.json()
    found = len(small.planted)
    assert (row["Evidence"], row["Findings"], row["Confirmed"]) == ("complete", found, 0)
    assert f"{found} findings ({found} new, 0 gone)" in first.err
    [row] = trueup(*ONCE, "-f", "json").json()
    assert (row["Findings"], row["Confirmed"], row["Rounds"]) == (found, found, 1)


def test_a_damaged_memory_begins_anew_and_says_so(nova_conf, state):
    trueup(*ONCE)
    (state / "watch.json").write_text("{")
    ran = trueup(*ONCE)
    assert ran.code == 3
    assert "it is damaged" in ran.err
    assert "The history starts empty." in ran.err


def test_a_round_that_fails_is_told_with_what_to_do(small, nova_conf):
    (small.folder / "nova_api.sqlite").write_text("no database")
    ran = trueup(*ONCE, "-f", "json")
    assert ran.code == 5
    [row] = ran.json()
    assert (row["Evidence"], row["Failed"]) == ("failed", 1)
    assert "the round failed: " in ran.err


def test_a_silent_cell_makes_the_evidence_incomplete(small, nova_conf):
    (small.folder / "nova_cell2.sqlite").unlink()
    ran = trueup(*ONCE, "-f", "json")
    assert (ran.code, ran.json()[0]["Evidence"]) == (5, "incomplete")


def test_the_hook_gets_what_two_rounds_confirm(small, nova_conf, tmp_path, monkeypatch):
    monkeypatch.setattr("trueup.cli.commands.watch.INTERVAL_SECONDS", 0.001)
    program = tmp_path / "hook.py"
    program.write_text(f"import sys; open({str(tmp_path / 'news')!r}, 'a').write(sys.stdin.read())")
    notify = ("--notify", f"{sys.executable} {program}")
    trueup(*ONCE, *notify)
    assert not (tmp_path / "news").exists()
    trueup(*ONCE, *notify)
    [line] = (tmp_path / "news").read_text().splitlines()
    consumers = {one.consumer_uuid for one in small.planted.values()}
    assert consumers <= {row["subject"] for row in json.loads(line)["appeared"]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--listen", "9808"), "is no HOST:PORT"),
        (("--listen", "127.0.0.1:http"), "is no HOST:PORT"),
        (("--listen", "192.0.2.1:9"), "nothing can be served at 192.0.2.1:9"),
        (("--notify", "say 'unended"), "it cannot be read as a command"),
        (("--notify", ""), "it cannot be read as a command"),
        (("--interval", "0"), "name a number above 0"),
        (("--rounds", "0"), "name a number above 0"),
        (("--state-dir", "/dev/null"), "cannot be used"),
        (("--nova-conf", "/no/such/file"), "cannot be used"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_round(nova_conf, options, words):
    ran = trueup("watch", "--rounds", 1, *options)
    assert (ran.code, words in ran.err) == (2, True), ran.err
    assert "findings" not in ran.err


@contextmanager
def running(*words: object, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`trueup watch` as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from trueup.cli.main import main; raise SystemExit(main())",
         "watch", "--listen", "127.0.0.1:0", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=dies_with_its_parent(signal.SIGKILL),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(process: subprocess.Popen[str]) -> str:
    """Where it says that it serves."""
    for line in process.stderr:
        if found := re.match(r"Serving (http://\S+/)", line):
            return found[1]
    raise AssertionError("it serves nothing")


def answers(url: str, good: Callable[[requests.Response], bool]) -> Callable[[], bool]:
    return lambda: good(requests.get(url, timeout=30))


def test_the_commands_on_its_page_are_of_its_cloud(nova_conf, state):
    """Its --interval is not that of a plan."""
    environment = {"TRUEUP_STATE_DIR": str(state)}
    with running("--nova-conf", nova_conf, "--interval", 500, environment=environment) as process:
        url = address(process)
        assert poll(answers(f"{url}readyz", lambda one: one.ok), 120)
        page = requests.get(url, timeout=30).text
    assert f"trueup plan --out plan.json --nova-conf {nova_conf}<" in page


def test_sigterm_stops_it_with_a_sentence_and_what_was_seen_is_kept(nova_conf, state, browser):
    environment = {"TRUEUP_NOVA_CONF": str(nova_conf), "TRUEUP_STATE_DIR": str(state)}
    with running(environment=environment) as process:
        url = address(process)
        assert requests.get(f"{url}livez", timeout=30).status_code == 200
        assert poll(answers(f"{url}readyz", lambda one: one.ok), 120)
        assert "trueup_watch_findings{" in requests.get(f"{url}metrics", timeout=30).text
        with running(environment=environment) as second:
            _, refused = second.communicate(timeout=120)
            assert (second.returncode, "another 'trueup watch' uses" in refused) == (2, True)
        browser.complaints.clear()
        browser.look(1280, 800)
        browser.open(url)
        assert browser.evaluate("document.querySelector('#history svg') !== null")
        # A browser asks every server for an icon by itself.
        assert [
            one for one in browser.complaints if "favicon" not in one and "404" not in one
        ] == []
        process.send_signal(signal.SIGTERM)
        _, reported = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Stopped by SIGTERM." in reported
    assert json.loads((state / "watch.json").read_bytes())["memory"]["rounds"]
