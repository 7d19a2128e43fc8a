# SPDX-License-Identifier: Apache-2.0
"""`trueup merge`: a host was renamed, and Placement counts it twice."""

from datetime import timedelta

from tests.cli.commands.emptying import providers
from tests.cli.commands.merging import NEW_NAME, made_again, renamed
from tests.cli.commands.rekeying import CELL, HOST, NEW, held_on
from tests.cli.commands.test_rekey import parents
from tests.cli.running import Ran, trueup
from tests.reconcile.small import Small
from trueup.reconcile.clock import now
from trueup.reconcile.runs.journals import runs


def merge(old: str, new: str, *words: object) -> Ran:
    return trueup("merge", old, new, "--interval", 0.01, *words)


def test_the_old_provider_becomes_a_part_of_the_new_one_and_back(site, state):
    host = renamed(site)
    before, held = site.ledger(), held_on(site, host.old.old)
    on_bridge = held_on(site, host.old.bridge)
    ran = merge(host.old.name, NEW_NAME, "--apply", "--limit", 100, "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert ran.json()["left"] == []
    assert host.old.old not in providers(site)
    assert held_on(site, NEW) == held
    assert held_on(site, host.old.bridge) == on_bridge
    assert parents(site)[host.old.agent] == parents(site)[host.old.device] == NEW
    again = merge(host.old.name, NEW_NAME, "--apply")
    assert again.code == 0
    assert "has done it" in again.err
    [journal] = runs(state)
    undone = trueup("undo", journal.run, "--limit", 100)
    assert undone.code == 0, undone.out + undone.err
    assert site.ledger() == before


def test_a_host_made_again_with_its_name_becomes_one(site, state):
    """The living compute node that has the old one's name is the one that it becomes a part of."""
    host = made_again(site)
    before, held = site.ledger(), held_on(site, host.old)
    ran = merge(NEW_NAME, host.name, "--apply", "--limit", 100, "-f", "json")
    assert ran.code == 0, ran.out + ran.err
    assert host.old not in providers(site)
    assert held_on(site, NEW) == held
    undone = trueup("undo", runs(state)[0].run, "--limit", 100)
    assert undone.code == 0, undone.out + undone.err
    assert site.ledger() == before


def user_deletes(site: Small, instance: str) -> None:
    """An instance of the host is deleted, with what it holds."""
    assert site.call("DELETE", f"/allocations/{instance}").status_code == 204
    gone = "UPDATE instances SET deleted = id, vm_state = 'deleted' WHERE uuid = ?"
    site.sql(CELL, gone, instance)


def test_what_could_not_be_taken_back_is_merged_again(site, state):
    """An instance was deleted since, so that the one request in which all moved is not undone."""
    host = renamed(site)
    words = (host.old.name, NEW_NAME, "--apply", "--limit", 100)
    assert merge(*words).code == 0
    held = held_on(site, NEW)
    user_deletes(site, host.old.instance)
    del held[host.old.instance]
    undone = trueup("undo", runs(state)[0].run, "--limit", 100)
    assert undone.code == 4, undone.out + undone.err
    assert host.old.old in providers(site)
    assert parents(site)[host.old.device] == NEW, "what is held stays in one tree"
    ran = merge(*words)
    assert ran.code == 0, ran.out + ran.err
    assert "What could not be taken back stays" in ran.err
    assert host.old.old not in providers(site)
    assert parents(site)[host.old.agent] == parents(site)[host.old.device] == NEW
    assert held_on(site, NEW) == held
    assert "has done it" in merge(*words).err


def test_an_old_run_that_can_no_longer_be_taken_back_is_completed(site_on, state, monkeypatch):
    """It was interrupted after the one request in which all moved, and the host lives on."""
    site = site_on("trueup")
    host = renamed(site)
    words = (host.old.name, NEW_NAME, "--apply", "--limit", 100)
    with monkeypatch.context() as patched:
        patched.setattr("trueup.reconcile.changes.whole_providers.write", interrupted)
        assert merge(*words).code == 130
    held = held_on(site, NEW)
    user_deletes(site, host.old.instance)
    del held[host.old.instance]
    later = now() + timedelta(hours=2)
    monkeypatch.setattr("trueup.cli.runbook.now", lambda: later)
    monkeypatch.setattr("trueup.reconcile.runs.apply.LATE", timedelta())
    ran = merge(*words)
    assert ran.code == 0, ran.out + ran.err
    assert host.old.old not in providers(site)
    assert held_on(site, NEW) == held


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_wrong_way_round_is_refused(site_on):
    site = site_on("trueup")
    host, before = renamed(site), site.rows()
    ran = merge(NEW_NAME, host.old.name, "--apply", "-f", "json")
    assert ran.code == 3
    assert any("that compute node exists" in row["then"] for row in ran.json()["checks"])
    assert site.rows() == before


def test_two_hosts_are_not_one(site_on):
    site = site_on("trueup")
    before = site.rows()
    ran = merge("compute-02.lab.example", "compute-01.lab.example", "--apply", "-f", "json")
    assert ran.code == 3
    assert ran.json()["blocked"]
    assert site.rows() == before


def test_a_plan_to_merge_leaves_the_host_without_findings(site_on):
    site = site_on("trueup")
    host = renamed(site)
    assert merge(host.old.name, NEW_NAME, "--apply", "--limit", 100).code == 0
    found = trueup("audit", "--host", HOST, "-f", "json").json()["findings"]
    assert not {row["defect"] for row in found} & {"duplicate-provider", "wrong-provider"}


def test_unknown_providers_are_refused(site_on):
    site_on("trueup")
    ran = merge("nowhere", "compute-01.lab.example")
    assert ran.code == 2
    assert "neither Nova nor Placement has the provider 'nowhere'" in ran.err
