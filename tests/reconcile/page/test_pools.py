# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace

import pytest

from tests.reconcile.page.paging import page_about_facts
from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.facts import Facts
from trueup.reconcile.page.html import html_of
from trueup.reconcile.page.page import Page
from trueup.reconcile.page.trees import HostTree

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
  host h3 VCPU=8
  server old on h1 deleted=3600
  server web on h2 VCPU=2 MEMORY_MB=0 DISK_GB=20
provider ceph DISK_GB=100 sharing
holds old h1 VCPU=2
holds old ceph DISK_GB=6
holds web h2 VCPU=2
holds web ceph DISK_GB=20
"""


def shared(*hosts: str) -> Facts:
    """The cloud, whose pool has an aggregate in common with these hosts."""
    facts = facts_of(CLOUD)
    pool = facts.providers[uuid_of("ceph")]
    roots = frozenset(map(uuid_of, hosts))
    return replace(
        facts, providers={**facts.providers, pool.uuid: replace(pool, shares_with=roots)}
    )


def hosts(page: Page) -> dict[str, HostTree]:
    return {host.name: host for cell in page.cells for host in cell.hosts}


def test_a_pool_stands_with_each_host_that_uses_it_and_says_how_much():
    page = page_about_facts(shared("h1", "h2"))
    found = {name: host.pools for name, host in hosts(page).items()}
    assert found["h3"] == ()
    for name, held in (("h1", {"DISK_GB": 6}), ("h2", {"DISK_GB": 20})):
        [pool] = found[name]
        assert (pool.name, pool.tree, pool.held) == ("ceph", uuid_of("ceph"), held)
        [split] = pool.splits
        assert (split.capacity, split.held, split.phantom) == (100, 26, 6)


def test_the_sums_of_hosts_have_no_pool_since_they_would_have_it_twice():
    page = page_about_facts(shared("h1", "h2"))
    assert {one.resource_class for one in page.cells[0].totals} == {"VCPU"}
    assert [one.capacity for one in page.totals if one.resource_class == "DISK_GB"] == [100]


def test_the_tree_of_a_pool_says_with_how_many_it_shares():
    [pool] = page_about_facts(shared("h1", "h2")).others
    assert pool.shares_with == 2
    assert pool.pools == ()


def test_instances_stand_with_their_host_and_are_counted_at_the_pool():
    """200,000 of them a second time are half of a page. All others stand at the pool."""
    [ceph] = page_about_facts(shared("h1", "h2")).others
    assert [one.uuid for one in ceph.residents] == [uuid_of("old")]
    assert (ceph.on_hosts, ceph.occupants) == (1, "2 consumers")
    [apart] = page_about_facts(shared("h1", "h3")).others
    assert {one.uuid for one in apart.residents} == {uuid_of("old"), uuid_of("web")}
    assert (apart.on_hosts, apart.occupants) == (0, "2 consumers")
    page = html_of(page_about_facts(shared("h1", "h2"))).decode()
    assert "1 instance holds something of it, and stands with its host." in page
    assert page.count(uuid_of("web")) < html_of(page_about_facts(shared("h1"))).decode().count(
        uuid_of("web")
    )


def test_a_host_that_shares_what_it_has_is_a_pool_of_the_others():
    facts = shared()
    h1 = replace(
        facts.providers[uuid_of("h1")],
        sharing=True,
        shares_with=frozenset({uuid_of("h1"), uuid_of("h3")}),
    )
    found = hosts(page_about_facts(replace(facts, providers={**facts.providers, h1.uuid: h1})))
    assert [pool.name for pool in found["h3"].pools] == ["h1"]
    assert (found["h1"].pools, found["h1"].shares_with) == ((), 1)


def test_of_a_pool_whose_consumers_were_not_all_read_no_capacity_is_shown():
    facts = replace(
        shared("h1", "h2"),
        hosts_in_scope=frozenset({"h2"}),
        providers_in_scope=frozenset({uuid_of("h2")}),
    )
    page = page_about_facts(facts)
    [pool] = hosts(page)["h2"].pools
    assert (pool.splits, pool.tree, pool.held) == (None, "", {"DISK_GB": 20})
    assert "Not all its consumers were read." in html_of(page).decode()


@pytest.mark.parametrize("host", ["h1", "h2"])
def test_a_browser_shows_the_bar_of_the_pool_and_goes_to_its_tree(browser, tmp_path, host):
    path = tmp_path / "page.html"
    path.write_bytes(html_of(page_about_facts(shared("h1", "h2"))))
    browser.look(375, 800)
    browser.open(path.as_uri())
    browser.evaluate(
        "globalThis.shown = [...document.querySelectorAll('.cell .host')]"
        f".find(one => one.querySelector('.name').textContent === '{host}');"
        "shown.open = true; shown.scrollIntoView()"
    )
    words = re.sub(r"\s+", " ", browser.evaluate("shown.textContent"))
    assert f"Shared pool ceph {uuid_of('ceph')}" in words
    assert re.search(r"DISK_GB ?26 of 100", words)
    assert "6 phantom" in words
    link = "shown.querySelector('a[href^=\"#tree-\"]')"
    bars = "[...shown.querySelectorAll(`:is(.pool, .shared) .bar .p`)].map(one => one.clientWidth)"
    widths = browser.evaluate(f"new Promise(done => requestAnimationFrame(() => done({bars})))")
    assert len(widths) == 1
    assert widths[0] > 0
    browser.evaluate(f"{link}.click()")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate("document.querySelector(location.hash).open")
