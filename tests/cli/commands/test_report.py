# SPDX-License-Identifier: Apache-2.0
"""`trueup report` writes one page about a cloud or a snapshot, and nothing to the cloud."""

import shutil

from tests.cli.running import trueup
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.databases import NovaDatabases


def test_a_page_of_a_living_cloud(small, nova_conf, tmp_path):
    before = small.rows()
    ran = trueup("report", "--html", tmp_path / "page.html", "-f", "json")
    assert ran.code == 3
    [row] = ran.json()
    page = (tmp_path / "page.html").read_text()
    assert (row["Hosts"], row["Findings"]) == (6, len(small.planted))
    for one in small.planted.values():
        assert one.consumer_uuid in page
    assert small.rows() == before
    assert f"Open {tmp_path / 'page.html'} in a browser." in ran.err


def test_a_page_of_a_snapshot_needs_no_cloud(small, nova_conf, tmp_path):
    trueup("snapshot", "save", tmp_path / "cloud.snapshot")
    shutil.rmtree(small.folder)
    page = tmp_path / "page.html"
    assert trueup("report", "--html", page, "--from", tmp_path / "cloud.snapshot").code == 3
    assert f"Snapshot {tmp_path / 'cloud.snapshot'}" in page.read_text()
    assert "observe again and plan guarded steps, on a controller of that cloud" in page.read_text()


def test_the_commands_on_the_page_are_of_the_same_cloud(small, nova_conf, tmp_path, state):
    page, options = tmp_path / "page.html", ("--nova-conf", nova_conf, "--host", "compute-01")
    trueup("report", "--html", page, "--state-dir", tmp_path / "runs", *options)
    text = page.read_text()
    assert f"trueup plan --out plan.json --host compute-01 --nova-conf {nova_conf}<" in text
    assert "trueup plan show plan.json<" in text
    kept = f"--state-dir {tmp_path / 'runs'}"
    assert f"trueup apply plan.json {kept} --nova-conf {nova_conf}<" in text


def test_runs_and_undos_are_on_the_page(plan_file, tmp_path, state):
    trueup("apply", plan_file)
    [run] = [path.stem for path in state.glob("*.jsonl")]
    trueup("undo", run)
    assert trueup("report", "--html", tmp_path / "page.html").code == 3
    page = (tmp_path / "page.html").read_text()
    assert page.count('<tr class="run">') == page.count('<tr class="undo">') == 1
    assert f"takes back {run}" in page


def test_a_silent_cell_gives_its_code_and_is_on_the_page(small, nova_conf, tmp_path):
    (small.folder / "nova_cell2.sqlite").unlink()
    assert trueup("report", "--html", tmp_path / "page.html").code == 5
    assert '<tr class="silent"><th scope="row">cell2</th>' in (tmp_path / "page.html").read_text()


def test_a_nova_that_is_gone_after_the_audit_costs_the_counts_alone(
    small, nova_conf, tmp_path, monkeypatch
):
    def gone(_: object) -> None:
        raise Unreachable("Nova's API database", "server has gone away")

    monkeypatch.setattr(NovaDatabases, "flavors", gone)
    assert trueup("report", "--html", tmp_path / "page.html").code == 3
    assert "server has gone away" in (tmp_path / "page.html").read_text()


def test_where_no_file_can_be_is_refused_before_any_work(nova_conf, tmp_path):
    for path in (tmp_path / "nowhere" / "page.html", tmp_path):
        ran = trueup("report", "--html", path)
        assert (ran.code, "cannot be written" in ran.err) == (2, True)
        assert "Answered" not in ran.err


def test_a_link_is_followed_and_a_mode_is_kept(nova_conf, tmp_path):
    target = tmp_path / "target.html"
    target.write_text("old")
    target.chmod(0o644)
    (tmp_path / "link.html").symlink_to(target)
    trueup("report", "--html", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert target.read_text().startswith("<!doctype html>")
    assert target.stat().st_mode & 0o777 == 0o644
