# SPDX-License-Identifier: Apache-2.0
"""`trueup audit` says what is wrong, and writes nothing."""

import pytest

from tests.cli.running import ROWS, trueup
from trueup.reconcile.audit.audit_file import load


def verdicts(*options: object) -> set[str]:
    return {row["Verdict"] for row in trueup("audit", *ROWS, *options).json()}


def test_findings_give_their_code_and_what_to_type_next(small, nova_conf):
    before = small.rows()
    ran = trueup("audit", *ROWS)
    assert ran.code == 3
    assert {row["Defect"] for row in ran.json()} == set(small.planted)
    assert "Next: trueup plan --out plan.json" in ran.err
    assert small.rows() == before


def test_a_cloud_in_order_gives_code_0(plan_file):
    assert trueup("apply", plan_file).code == 0
    ran = trueup("audit", *ROWS)
    assert (ran.code, ran.json()) == (0, [])
    assert "Next" not in ran.err


def test_what_was_left_alone_is_shown_on_request(nova_conf):
    assert verdicts() == {"finding"}
    assert verdicts("--all") == {"finding", "left alone", "right"}


@pytest.mark.parametrize("damage", ["silent", "untold"])
def test_incomplete_evidence_outweighs_findings(small, nova_conf, damage):
    if damage == "silent":
        (small.folder / "nova_cell0.sqlite").unlink()
    else:
        small.sql("nova_cell1", "UPDATE compute_nodes SET uuid = 'other' WHERE id = 1")
    ran = trueup("audit", *ROWS)
    assert ran.code == 5
    assert "could not check" in {row["Verdict"] for row in ran.json()}
    assert ("Did not answer: cell0" in ran.err) is (damage == "silent")


def test_who_answered_is_said(nova_conf):
    [answered, *_] = trueup("audit").err.splitlines()
    for source in ("Placement", "cell0", "cell1", "cell2"):
        assert f"{source} (" in answered


def test_a_longer_grace_leaves_more_alone(nova_conf):
    def orphans(*options: object) -> int:
        rows = trueup("audit", *ROWS, *options).json()
        return sum(row["Defect"] == "orphaned-allocation" for row in rows)

    assert orphans() == 1
    assert orphans("--grace", 10**7) == 0


def test_a_look_is_kept(small, nova_conf, tmp_path):
    trueup("audit", "--save", tmp_path / "look.json")
    kept = load(tmp_path / "look.json")
    assert {finding.defect for finding in kept.findings} == set(small.planted)


def test_what_is_acknowledged_is_shown_in_every_audit(nova_conf, tmp_path, monkeypatch):
    path = tmp_path / "acknowledged.toml"
    path.write_text(
        '[[acknowledged]]\nkind = "host-gone"\nname = "h9"\nreason = "sold"\nuntil = 2999-01-01\n'
    )
    ran = trueup("audit", "--acknowledged", path, *ROWS)
    [row] = [row for row in ran.json() if row["Verdict"] == "acknowledged"]
    assert (row["Kind"], row["Subject"], row["Evidence"]["because"]) == ("host-gone", "h9", "sold")
    assert "1 acknowledged" in ran.err
    monkeypatch.setenv("TRUEUP_ACKNOWLEDGED", str(tmp_path / "none"))
    assert trueup("audit").code == 2


def test_a_filter_hides_findings_and_says_how_many(nova_conf):
    every = trueup("audit", "-f", "json").json()
    some = trueup("audit", "-f", "json", "--defect", "orphaned-allocation")
    assert some.code == 3
    assert {row["defect"] for row in some.json()["findings"]} == {"orphaned-allocation"}
    hidden = len(every["findings"]) - 1
    assert some.json()["counts"]["hidden"] == hidden
    assert "\n1 finding, " in some.err
    assert f", {hidden} not shown," in some.err


def test_the_code_says_what_is_shown(small, nova_conf):
    worst = trueup("audit", "--severity", "critical", "-f", "json")
    assert (worst.code, worst.json()["findings"]) == (0, [])
    assert worst.json()["counts"]["hidden"] > 0
    (small.folder / "nova_cell0.sqlite").unlink()
    assert trueup("audit", "--severity", "critical").code == 5, "a silent cell is no all-clear"


def test_by_host_the_hosts_come_first(nova_conf):
    rows = trueup("audit", "--by", "host", "-f", "csv").out.splitlines()
    assert rows[0].startswith('"Where","Verdict"')


def test_quiet_is_quiet_before_and_behind_the_command(nova_conf):
    for words in (("-q", "audit"), ("audit", "-q"), ("audit", "--quiet")):
        ran = trueup(*words, "-f", "json")
        assert (ran.code, ran.err) == (3, "")
        assert ran.json()["findings"]
    assert trueup("audit", "-f", "json").err != "", "of one command only"


def test_one_of_something_is_not_several(nova_conf):
    ran = trueup("audit", "--defect", "wrong-provider")
    assert "1 finding, " in ran.err
    assert "(1 rows)" not in ran.err


def test_sarif_is_one_log_and_has_no_columns(nova_conf):
    log = trueup("audit", "-f", "sarif")
    assert log.code == 3
    assert log.json()["version"] == "2.1.0"
    assert len(log.json()["runs"][0]["results"]) == len(
        trueup("audit", "-f", "json").json()["findings"]
    )
    refused = trueup("audit", "-f", "sarif", "-c", "Verdict")
    assert (refused.code, "it has no columns" in refused.err) == (2, True)


@pytest.mark.parametrize("width", [40, 100, 140, 400])
def test_no_uuid_is_split_however_narrow_it_is(nova_conf, width):
    subjects = [row["subject"]["uuid"] for row in trueup("audit", "-f", "json").json()["findings"]]
    out = trueup("audit", "--max-width", width).out
    assert all(uuid in out for uuid in subjects)
