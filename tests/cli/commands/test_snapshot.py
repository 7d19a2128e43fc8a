# SPDX-License-Identifier: Apache-2.0
"""`trueup snapshot`: a cloud in a file, and the same said of it later and elsewhere."""

import shutil
import stat

import pytest

from tests.cli.running import ROWS, trueup


@pytest.fixture
def file(nova_conf, tmp_path):
    path = tmp_path / "cloud.snapshot"
    assert trueup("snapshot", "save", path).code == 0
    return path


def findings(*options: object) -> list[dict[str, object]]:
    return trueup("audit", *ROWS, *options).json()


def test_the_audit_of_a_snapshot_needs_no_cloud_and_says_the_same(small, file):
    living = findings()
    shutil.rmtree(small.folder)
    ran = trueup("audit", "--from", file, *ROWS)
    assert (ran.code, ran.json()) == (3, living)
    assert "Next, on a controller of that cloud: trueup plan --out plan.json" in ran.err
    [row] = trueup("audit", "--from", file, "-f", "json").json()["next"]
    assert row["to"] == "plan a repair, on a controller of that cloud"


def test_saving_and_showing_say_what_answered(file, nova_conf, tmp_path):
    other = tmp_path / "an other"
    saved = trueup("snapshot", "save", other, "-f", "json")
    shown = trueup("snapshot", "show", other, "-f", "json")
    assert saved.json() == shown.json()
    assert [row["Answered"] for row in shown.json()] == ["yes"] * 5
    assert "24 instances" in shown.err or " instances," in shown.err
    assert f"trueup audit --from '{other}'" in saved.err


def test_a_silent_cell_is_told_by_the_snapshot_too(small, nova_conf, tmp_path):
    (small.folder / "nova_cell2.sqlite").unlink()
    path = tmp_path / "part.snapshot"
    assert trueup("snapshot", "save", path).code == 5
    shown = trueup("snapshot", "show", path, "-f", "json")
    assert shown.code == 5
    [silent] = [row for row in shown.json() if row["Answered"] == "no"]
    assert silent["Source"] == "cell2"
    assert trueup("audit", "--from", path).code == 5


def test_under_pseudonyms_the_findings_are_as_many_and_the_names_others(
    small, nova_conf, state, tmp_path
):
    path = tmp_path / "anonymous.snapshot"
    assert trueup("snapshot", "save", path, "--anonymize").code == 0
    hidden, living = findings("--from", path), findings()
    assert sorted(row["Defect"] for row in hidden) == sorted(row["Defect"] for row in living)
    assert not {row["Subject"] for row in hidden} & {row["Subject"] for row in living}
    assert "under pseudonyms" in trueup("snapshot", "show", path).err
    trueup("snapshot", "save", path, "--anonymize")
    assert findings("--from", path) == hidden, "they are the same every time"
    assert stat.S_IMODE((state / "anonymize.key").stat().st_mode) == 0o600


def test_a_plan_of_a_snapshot_needs_an_older_look(file, tmp_path):
    out = tmp_path / "plan.json"
    alone = trueup("plan", "--from", file, "--out", out)
    assert alone.code == 2
    assert "another that is 60 s older" in alone.err
    trueup("audit", "--from", file, "--save", tmp_path / "first.json")
    early = trueup("plan", "--from", file, "--first", tmp_path / "first.json")
    assert early.code == 2
    assert not out.exists()


def test_a_plan_of_a_snapshot_is_applied_by_what_the_cloud_says_now(small, nova_conf, tmp_path):
    first, file, out = (tmp_path / name for name in ("first.json", "a.snapshot", "plan.json"))
    trueup("audit", "--save", first)
    trueup("snapshot", "save", file)
    words = ("plan", "--first", first, "--interval", 0.01, "-f", "json")
    kept = trueup(*words, "--from", file, "--out", out)
    assert kept.code == 3
    assert kept.json() == trueup(*words).json()
    changed = small.consumer("orphaned-allocation")
    cell = f"nova_{small.planted['orphaned-allocation'].cell}"
    small.sql(cell, "UPDATE instances SET deleted = 0 WHERE uuid = ?", changed)
    applied = trueup("apply", out, "-f", "json")
    refused = {row["Subject"] for row in applied.json() if row["Result"] == "refused"}
    assert (applied.code, refused) == (4, {changed})


def test_a_file_that_is_no_snapshot_is_one_line(tmp_path):
    path = tmp_path / "none"
    for words in (("snapshot", "show", path), ("audit", "--from", path)):
        ran = trueup(*words)
        assert (ran.code, ran.out) == (2, "")
        assert "trueup snapshot save FILE" in ran.err


def test_a_key_that_cannot_be_kept_is_one_line(nova_conf, tmp_path):
    (tmp_path / "a-file").write_text("")
    ran = trueup(
        "snapshot", "save", tmp_path / "s", "--anonymize", "--state-dir", tmp_path / "a-file" / "x"
    )
    assert (ran.code, ran.out) == (2, "")
    assert "anonymize.key" in ran.err
