# SPDX-License-Identifier: Apache-2.0
"""An option that would be ignored, or means nothing, is refused before any work."""

import pytest

from tests.cli.running import ROWS, trueup

URL = "sqlite:////nowhere/nova_api.sqlite"


@pytest.fixture
def before(small, nova_conf):
    """What the ledger holds; no refusal may change it, or even look."""
    return small.rows()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "--interval", 0], "--interval: 0 makes no sense; name a number above 0"),
        (["plan", "--interval", -1], "--interval: -1 makes no sense"),
        (["plan", "--interval", "nan"], "--interval: nan makes no sense"),
        (["plan", "--interval", "inf"], "--interval: inf makes no sense; name a number above 0"),
        (["apply", "p", "--rate", "inf"], "--rate: inf makes no sense"),
        (["apply", "p", "--max-age", "inf"], "--max-age: inf makes no sense"),
        (["audit", "--cell-timeout", -5], "--cell-timeout: -5 makes no sense"),
        (["audit", "--cell-timeout", 0], "--cell-timeout: 0 makes no sense"),
        (["audit", "--grace", -1], "--grace: -1 makes no sense; name a number 0 or more"),
        (["apply", "p", "--max-age", -1], "--max-age: -1 makes no sense"),
        (["apply", "p", "--limit", -1], "--limit: -1 makes no sense"),
        (["apply", "p", "--concurrency", 0], "--concurrency: 0 makes no sense"),
        (["apply", "p", "--rate", 0], "--rate: 0 makes no sense"),
        (["apply", "p", "--replan", 0], "--replan: 0 makes no sense"),
        (["audit", "--os-cloud", "mine"], "--os-cloud: it would be ignored: nova.conf says"),
        (["apply", "p", "--os-cloud", "mine"], "--os-cloud: it would be ignored"),
        (["undo", "r", "--os-cloud", "mine"], "--os-cloud: it would be ignored"),
        (["audit", "--nova-api", "--nova-database", URL], "--nova-database: it would be ignored"),
        (["audit", "--nova-api", "--nova-conf", "f"], "--nova-conf: it would be ignored"),
        (["audit", "--nova-database", URL, "--nova-conf", "f"], "--nova-conf: it would be"),
        (["audit", "--nova-api", "--cell-timeout", 5], "--cell-timeout: it would be ignored"),
        (["audit", "--nova-api", "--cell-database", "c=d"], "--cell-database: it would be"),
        (["audit", "--from", "f", "--nova-conf", "g"], "--nova-conf: it would be ignored"),
        (["plan", "--from", "f", "--libvirt"], "--libvirt: it would be ignored"),
        (["ledger", "export", "f", "--placement-database", URL], "--placement-database: it would"),
        (["ledger", "import", "f", "--libvirt"], "--libvirt: it would be ignored: a ledger is"),
        (["ledger", "export", "f", "--cell-timeout", 5], "--cell-timeout: it would be ignored"),
        (["ghosts", "--limit", 3], "--limit: it would be ignored: nothing is written without"),
        (["ghosts", "--concurrency", 3], "--concurrency: it would be ignored: nothing is"),
        (["ghosts", "--rate", 3], "--rate: it would be ignored: nothing is written without"),
        (["ghosts", "--yes"], "--yes: it would be ignored: nothing is written without"),
        (["ghosts", "--yes", "--out", "p"], "--yes: it would be ignored: nothing is written"),
        (["rebuild", "--into", URL, "--lost", "--yes"], "--yes: it would be ignored: nothing"),
        (["rebuild", "--into", URL, "--lost", "--backup", "f"], "--backup: there is no old"),
        (["rebuild", "--into", URL, "--check", "--yes"], "--yes: --check only looks at the new"),
        (["snapshot", "save", "f", "--state-dir", "d"], "--state-dir: it would be ignored: it"),
        (["audit", "-f", "sarif", "--all"], "--all: a SARIF document has findings only"),
        (["audit", "-c", "Nope"], "no column Nope. There are: Verdict, Severity, Defect"),
        (["audit", "-c", "Where", "-c", "Nope"], "no column Nope."),
        (["apply", "p", "-c", "Nope"], "no column Nope. There are: Name, Subject, Result"),
        (["journal", "-c", "Requests"], "no column Requests"),
        (["plan", "--sort-column", "Nope"], "no column Nope"),
    ],
)  # fmt: skip
def test_it_is_refused_by_name_in_one_line(small, before, words, said):
    ran = trueup(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert small.rows() == before


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/null", "none/plan.json", "."])
@pytest.mark.parametrize("words", [["plan", "--out"], ["audit", "--save"], ["snapshot", "save"]])
def test_a_file_that_cannot_be_written_is_found_before_any_work(tmp_path, monkeypatch, words, path):
    monkeypatch.chdir(tmp_path)
    ran = trueup(*words, path, "--nova-conf", "/nowhere/nova.conf")
    assert (ran.code, ran.out) == (2, "")
    assert f"{path} cannot be written" in ran.err
    assert "nova.conf" not in ran.err


def test_quiet_tells_only_what_went_wrong(nova_conf, tmp_path):
    assert trueup("-q", "audit", *ROWS).err == ""
    assert "no column" in trueup("-q", "audit", "-c", "Nope").err
    assert trueup("audit", *ROWS).err != "", "of one command only"
