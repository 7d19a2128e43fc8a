# SPDX-License-Identifier: Apache-2.0
"""`trueup page` as a process of its own, and what it refuses."""

import re
import signal
import subprocess
import sys

import pytest
import requests

from tests.cli.running import trueup
from tests.placement.page import ledger
from tests.servers.processes import dies_with_its_parent
from trueup.exit_codes import ExitCode


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> str:
    return ledger.write(tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_stopped(url, number):
    process = subprocess.Popen(
        [sys.executable, "-c", "from trueup.cli.main import main; raise SystemExit(main())",
         "page", "--database", url, "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=dies_with_its_parent(signal.SIGKILL),
    )  # fmt: skip
    with process:
        told = re.search(r"Serving (http://127.0.0.1:\d+/)", process.stderr.readline())
        assert told
        assert requests.get(told[1], timeout=30).status_code == 200
        process.send_signal(number)
        assert process.wait(60) == ExitCode.CLEAN
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--listen", "8779"], "--listen: '8779' is no HOST:PORT"),
        (["--listen", "0.0.0.0:0"], "everybody who reaches 0.0.0.0 could read the ledger"),
        (["--listen", "192.0.2.1:9", "--insecure"], "nothing can be served at 192.0.2.1:9"),
        (["--config-file", "x"], "name two ledgers"),
    ],
)
def test_what_makes_no_sense_is_refused(url, words, says):
    ran = trueup("page", "--database", url, *words)
    assert (ran.code, says in ran.err) == (ExitCode.USAGE, True), ran.err


def test_a_database_that_cannot_be_read_is_told(tmp_path):
    file = tmp_path / "empty.sqlite"
    ran = trueup("page", "--database", f"sqlite:///{file}")
    assert (ran.code, f"{file} does not exist" in ran.err) == (ExitCode.USAGE, True)
    file.touch()
    ran = trueup("page", "--database", f"sqlite:///{file}")
    assert (ran.code, "cannot be read" in ran.err) == (ExitCode.USAGE, True)
    ran = trueup("page", "--database", "mysql+pymysql://x@127.0.0.1:1/p")
    assert (ran.code, "does not answer" in ran.err) == (ExitCode.INCOMPLETE, True)
