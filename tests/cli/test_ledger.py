# SPDX-License-Identifier: Apache-2.0
"""`trueup ledger export` and `import`; what is copied: tests/reconcile/test_ledger_copy.py."""

from tests.cli.running import trueup


def test_a_ledger_is_exported_and_the_same_is_not_imported_again(small, nova_conf, tmp_path):
    path, before = tmp_path / "ledger.json", small.rows()
    exported = trueup("ledger", "export", path, "-f", "json")
    assert exported.code == 0, exported.err
    counts = {row["What"]: row["Count"] for row in exported.json()}
    assert counts["providers"] == len(before["resource_providers"])
    assert counts["consumers"] == len(before["consumers"])
    imported = trueup("ledger", "import", path, "-f", "json")
    assert imported.code == 0, imported.err
    assert "nothing is written" in imported.err
    assert small.rows() == before


def test_another_ledger_is_refused(small, nova_conf, tmp_path):
    path = tmp_path / "ledger.json"
    trueup("ledger", "export", path)
    assert small.call("DELETE", f"/allocations/{small.consumer('orphaned-allocation')}").ok
    before = small.rows()
    ran = trueup("ledger", "import", path)
    assert (ran.code, ran.out) == (2, "")
    assert "Placement is not empty" in ran.err
    assert small.rows() == before
