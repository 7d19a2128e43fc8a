# SPDX-License-Identifier: Apache-2.0
"""`trueup merge`: a host was renamed, and Placement counts it twice."""

from tests.cli.runbooks.emptying import providers
from tests.cli.runbooks.merging import NEW_NAME, made_again, renamed
from tests.cli.runbooks.rekeying import HOST, NEW, held_on
from tests.cli.runbooks.test_rekey import parents
from tests.cli.running import Ran, trueup
from trueup.reconcile.journals import runs


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


def test_the_wrong_way_round_is_refused(site_on):
    site = site_on("trueup")
    host, before = renamed(site), site.rows()
    ran = merge(NEW_NAME, host.old.name, "--apply", "-f", "json")
    assert ran.code == 3
    assert any("that host is there" in row["then"] for row in ran.json()["checks"])
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
