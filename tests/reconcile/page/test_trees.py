# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

from tests.reconcile.page.paging import page_about, page_about_facts
from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.page.trees import HostTree


def hosts(text: str) -> dict[str, HostTree]:
    page = page_about(text)
    return {host.name: host for cell in page.cells for host in cell.hosts}


def test_a_host_has_its_tree_and_the_sums_of_it():
    facts = facts_of("cell1\n  host h1 DISK_GB=100\n")
    [root] = facts.providers.values()
    node = replace(root, uuid=uuid_of("numa"), name="numa", parent=root.uuid)
    card = replace(node, uuid=uuid_of("card"), name="card", parent=node.uuid)
    more = {one.uuid: one for one in (root, node, card)}
    [cell] = page_about_facts(replace(facts, providers=more)).cells
    [host] = cell.hosts
    assert host.branch.name == "h1"
    assert [one.name for one in host.branch.children] == ["numa"]
    assert [one.name for one in host.branch.children[0].children] == ["card"]
    assert [(one.resource_class, one.capacity) for one in host.totals] == [("DISK_GB", 300)]
    assert cell.totals == host.totals


def test_hosts_with_findings_come_first_and_name_them():
    [cell] = page_about(BROKEN.replace("cell1\n", "cell1\n  host a0 VCPU=8\n")).cells
    assert [host.name for host in cell.hosts] == ["h1", "h2", "a0"]
    assert [host.healthy for host in cell.hosts] == [False, False, True]
    assert f"orphaned-allocation:{uuid_of('old')}" in cell.hosts[0].findings
    assert cell.troubled == 2


def test_who_is_on_a_host_and_who_only_holds_something_of_it():
    notes = {one.uuid: one.note for one in hosts(BROKEN)["h1"].residents}
    assert notes == {
        uuid_of("old"): "deleted",
        uuid_of("web"): "holds nothing here",
        uuid_of("db"): "holds nothing here",
    }
    assert hosts(BROKEN)["h1"].occupants == "2 instances"
    [db] = hosts(BROKEN)["h2"].residents
    assert (db.name, db.note) == ("db", "Nova has it on h1")
    assert hosts(BROKEN)["h2"].occupants == "0 instances"


def test_a_host_whose_provider_is_gone_is_there_and_not_healthy():
    [host] = hosts("cell1\n  host h1 without-provider\n").values()
    assert (host.branch, host.healthy) == (None, False)


def test_a_silent_cell_is_there_and_says_so():
    cells = {
        cell.name: cell for cell in page_about("cell1\n  host h1 VCPU=8\ncell2 silent\n").cells
    }
    assert cells["cell2"].silent == "it is down"
    assert cells["cell1"].silent == ""


def test_trees_of_no_compute_node_are_apart():
    pool = "provider pool DISK_GB=100 sharing\nholds stranger pool DISK_GB=5\n"
    page = page_about(f"cell1\n  host h1 VCPU=8\n{pool}")
    [pool] = page.others
    assert (pool.name, pool.host, pool.occupants) == ("pool", "", "1 consumer")
    assert pool.residents[0].note == "no instance that is known"


def test_of_a_selection_only_hosts_that_were_read_as_a_whole_are_there():
    facts = replace(
        facts_of(BROKEN),
        hosts_in_scope=frozenset({"h2"}),
        providers_in_scope=frozenset({uuid_of("h2")}),
    )
    page = page_about_facts(facts)
    assert page.selected
    assert [host.name for cell in page.cells for host in cell.hosts] == ["h2"]
    assert [one.capacity for one in page.totals if one.resource_class == "VCPU"] == [8]
