# SPDX-License-Identifier: Apache-2.0
"""`trueup ledger export` and `import`; tests/reconcile/copies/ tests what is copied."""

from tests.cli.running import trueup
from trueup.lab.embedded import embedded_placement


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


def test_it_is_imported_into_an_empty_placement_and_read_again(small, nova_conf, tmp_path):
    path, there = tmp_path / "ledger.json", tmp_path / "there"
    trueup("ledger", "export", path)
    there.mkdir()
    with embedded_placement(there) as empty:
        words = nova_conf.read_text().replace(small.placement_url, empty.endpoint())
        other = tmp_path / "other.conf"
        other.write_text(words)
        ran = trueup("ledger", "import", path, "--nova-conf", other)
        assert ran.code == 0, ran.err
        assert f"Written to {empty.endpoint()}, and read again" in ran.err
        again = tmp_path / "again.json"
        trueup("ledger", "export", again, "--nova-conf", other)
    assert again.read_bytes() == path.read_bytes()
