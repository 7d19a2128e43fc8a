# SPDX-License-Identifier: Apache-2.0
"""The ledger as it would be after steps, in every kind of step that changes it."""

import pytest

from tests.scenarios.names import uuid_of
from tests.scenarios.reading import read_cloud
from trueup.capacity.after import after_repair, after_steps
from trueup.reconcile.audit import observation
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    AllocationsOf,
    Change,
    Held,
    Inventories,
    InventoriesOf,
    InventoryFields,
    ProviderFields,
    ProviderNode,
    State,
    Step,
    Target,
    Traits,
    TraitsOf,
    Tree,
    TreeContents,
    WholeProvider,
    step_of,
)
from trueup.reconcile.verdicts import AuditOptions

HOST, NEW = uuid_of("h1"), "a-new-provider"
STOCK = InventoryFields(4, 1, 1, 9, 1, 2.0)
CLOUD = """
cell1
  host h1 VCPU=8 up aggregates=
  provider disks DISK_GB=50 sharing aggregates=rack
  server web on h1 VCPU=2 MEMORY_MB=0
holds web h1 VCPU=2
"""


@pytest.fixture
def facts() -> Facts:
    return read_cloud(CLOUD).facts()


def after(facts: Facts, target: Target, state: State | None) -> Facts:
    return after_steps(facts, [step(target, state)])


def step(target: Target, state: State | None) -> Step:
    return step_of([Change(target, None, state, {})], (), ("a-finding",))


def test_what_consumers_hold(facts):
    held = Allocations({HOST: {"VCPU": 5}}, "p", "u")
    web = uuid_of("web")
    given = after(facts, AllocationsOf((web, "new")), Held({web: None, "new": held}))
    assert given.consumers == {"new": {HOST: {"VCPU": 5}}}
    assert given.used[HOST] == {"VCPU": 5}


def test_providers_come_change_and_go(facts):
    made = after(facts, ProviderNode(NEW), ProviderFields("nic", HOST))
    assert (made.providers[NEW].root, made.providers[NEW].parent) == (HOST, HOST)
    renamed = after(facts, ProviderNode(HOST), ProviderFields("h1-new"))
    assert renamed.providers[HOST].name == "h1-new"
    assert renamed.providers[HOST].inventories == facts.providers[HOST].inventories
    for target in (ProviderNode(HOST), WholeProvider(HOST)):
        assert HOST not in after(facts, target, None).providers


def test_inventories_traits_and_a_reshape(facts):
    stocked = after(facts, InventoriesOf(HOST), Inventories({"VCPU": STOCK}))
    assert stocked.providers[HOST].inventories["VCPU"].capacity == 6
    assert after(facts, TraitsOf(HOST), Traits(("A",))).providers[HOST].traits == {"A"}
    reshaped = after(
        facts, Tree((HOST,), ()), TreeContents({HOST: {"VCPU": STOCK}, "gone": {}}, {})
    )
    assert reshaped.providers[HOST].inventories["VCPU"].max_unit == 9


def test_a_host_that_joins_an_aggregate_shares_its_pool(facts):
    [rack] = facts.providers[uuid_of("disks")].aggregates or ()
    joined = after(facts, AggregatesOf(HOST), Aggregates((rack,)))
    assert joined.providers[uuid_of("disks")].shares_with == {HOST}
    left = after(joined, AggregatesOf(HOST), Aggregates(()))
    assert left.providers[uuid_of("disks")].shares_with == frozenset()


def test_a_repair_releases_what_is_phantom():
    text = "cell1\n  host h1 VCPU=8 up\n  server old on h1 deleted=36000\nholds old h1 VCPU=6"
    seen = observation(read_cloud(text).facts(), AuditOptions())
    repaired = after_repair(seen.facts, seen.audit)
    assert repaired is not None
    assert repaired.used == {}


def test_without_findings_nothing_is_repaired():
    seen = observation(read_cloud("cell1\n  host h1 VCPU=8 up").facts(), AuditOptions())
    assert after_repair(seen.facts, seen.audit) is None
