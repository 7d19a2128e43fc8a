# SPDX-License-Identifier: Apache-2.0
"""`trueup audit` says what is wrong, and writes nothing."""

import pytest

from tests.cli.running import trueup
from trueup.reconcile.audit_file import load


def verdicts(*options: object) -> set[str]:
    return {row["Verdict"] for row in trueup("audit", "-f", "json", *options).json()}


def test_findings_give_their_code_and_what_to_type_next(small, nova_conf):
    before = small.rows()
    ran = trueup("audit", "-f", "json")
    assert ran.code == 3
    assert {row["Defect"] for row in ran.json()} == set(small.planted)
    assert "Next: trueup plan --out plan.json" in ran.err
    assert small.rows() == before


def test_a_cloud_in_order_gives_code_0(plan_file):
    assert trueup("apply", plan_file).code == 0
    ran = trueup("audit", "-f", "json")
    assert (ran.code, ran.json()) == (0, [])
    assert "Next" not in ran.err


def test_what_was_left_alone_is_shown_on_request(nova_conf):
    assert verdicts() == {"finding"}
    assert verdicts("--all") == {"finding", "left alone"}


@pytest.mark.parametrize("damage", ["silent", "untold"])
def test_incomplete_evidence_outweighs_findings(small, nova_conf, damage):
    if damage == "silent":
        (small.folder / "nova_cell0.sqlite").unlink()
    else:
        small.sql("nova_cell1", "UPDATE compute_nodes SET uuid = 'other' WHERE id = 1")
    ran = trueup("audit", "-f", "json")
    assert ran.code == 5
    assert "could not check" in {row["Verdict"] for row in ran.json()}
    assert ("Did not answer: cell0" in ran.err) is (damage == "silent")


def test_who_answered_is_said(nova_conf):
    [answered, *_] = trueup("audit").err.splitlines()
    for source in ("Placement", "cell0", "cell1", "cell2"):
        assert f"{source} (" in answered


def test_a_longer_grace_leaves_more_alone(nova_conf):
    def orphans(*options: object) -> int:
        rows = trueup("audit", "-f", "json", *options).json()
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
    ran = trueup("audit", "--acknowledged", path, "-f", "json")
    [row] = [row for row in ran.json() if row["Verdict"] == "acknowledged"]
    assert (row["Kind"], row["Subject"], row["Evidence"]["because"]) == ("host-gone", "h9", "sold")
    assert "1 acknowledged" in ran.err
    monkeypatch.setenv("TRUEUP_ACKNOWLEDGED", str(tmp_path / "none"))
    assert trueup("audit").code == 2
