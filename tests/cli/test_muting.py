# SPDX-License-Identifier: Apache-2.0
"""`trueup audit --mute` writes one acknowledgement, and shows the finding as muted from then on."""

import getpass
from datetime import timedelta

import pytest

from tests.cli.running import Ran, trueup
from trueup.reconcile.clock import now
from trueup.reconcile.verdicts.acknowledgement_file import load


@pytest.fixture
def path(tmp_path):
    return tmp_path / "acknowledged.toml"


@pytest.fixture
def finding(small, nova_conf) -> str:
    return f"orphaned-allocation:{small.consumer('orphaned-allocation')}"


def mute(path, finding: str, *options: object) -> Ran:
    words = options or ("--for", "7d", "--reason", "ticket 4711")
    return trueup("audit", "--acknowledged", path, "--mute", finding, *words, "-f", "json")


def test_a_finding_is_muted_now_and_in_every_later_audit(path, finding):
    first = mute(path, finding)
    assert first.code == 3
    later = trueup("audit", "--acknowledged", path, "-f", "json")
    for ran in (first, later):
        [muted] = ran.json()["muted"]
        assert muted["id"] == finding
        assert muted["acknowledgement"]["reason"] == "ticket 4711"
        assert finding not in {row["id"] for row in ran.json()["findings"]}
        assert ", 1 muted," in ran.err
    [kept] = load(path)
    assert (kept.kind, kept.name, kept.by) == ("finding", finding, getpass.getuser())
    assert kept.until - now().date() in (timedelta(days=7), timedelta(days=6))


def test_nothing_is_planned_for_it(path, finding, tmp_path):
    mute(path, finding, "--for", "2w", "--reason", "known")
    words = ("--interval", 0.01, "-f", "json")
    ran = trueup("plan", "--acknowledged", path, *words)
    assert ran.json()
    assert "orphaned-allocation" not in {row["Because"] for row in ran.json()}


def test_when_all_is_muted_the_code_is_0(path, finding, nova_conf):
    ids = [row["id"] for row in trueup("audit", "-f", "json").json()["findings"]]
    codes = [mute(path, one).code for one in ids]
    assert codes == [3] * (len(ids) - 1) + [0]


@pytest.mark.parametrize("name", ["orphaned-allocation", "orphaned-allocation:nobody"])
def test_what_is_no_finding_is_refused_and_nothing_is_written(path, finding, name):
    ran = mute(path, name)
    assert ran.code == 2
    assert f"there is no finding '{name}' now" in ran.err
    assert not path.exists()


def test_what_is_muted_already_is_refused(path, finding):
    mute(path, finding)
    before = path.read_text()
    ran = mute(path, finding)
    assert ran.code == 2
    assert "is muted until" in ran.err
    assert path.read_text() == before


@pytest.mark.parametrize(
    "options",
    [
        ("--for", "7d"),
        ("--reason", "because"),
        ("--for", "7d", "--reason", " "),
    ],
)
def test_half_a_mute_is_refused_before_any_work(path, finding, options):
    assert mute(path, finding, *options).code == 2
    assert not path.exists()


def test_a_reason_without_a_finding_is_refused(nova_conf):
    ran = trueup("audit", "--reason", "because")
    assert (ran.code, "--mute" in ran.err) == (2, True)


def test_a_file_that_cannot_be_written_is_refused_before_any_work(finding, tmp_path):
    ran = mute(tmp_path / "no" / "such" / "folder.toml", finding)
    assert ran.code == 2
    assert "trueup: --acknowledged: " in ran.err
    assert "cannot be written: No such file or directory; name another file with it" in ran.err
    assert "Answered" not in ran.err


@pytest.mark.parametrize("words", ["7h", "0d", "soon", "-1d"])
def test_a_time_is_some_days_or_weeks(path, finding, words):
    with pytest.raises(SystemExit, match="2"):
        mute(path, finding, f"--for={words}", "--reason", "because")
    assert not path.exists()
