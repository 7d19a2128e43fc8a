# SPDX-License-Identifier: Apache-2.0
"""Every kind of target in Placement is read, written and taken back, on both Placements."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from msgspec import structs

from tests.reconcile.small import Small
from trueup.reconcile import changes
from trueup.reconcile.changes import Fate
from trueup.reconcile.facts import Allocations
from trueup.reconcile.journal import Origin
from trueup.reconcile.journals import applying
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import applied, undone
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    AllocationsOf,
    Change,
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
    step_of,
)
from trueup.reconcile.whole_provider import WholeProvider

NEW, AGGREGATE = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"


@pytest.fixture
def on_both(on_both: Small) -> Small:
    """As an account that may also reshape: Placement's policy wants the service role for that."""
    headers = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
    adapter = Adapter(
        Session(auth=NoAuth()),
        service_type="placement",
        endpoint_override=on_both.placement_url,
        additional_headers=headers,
    )
    return replace(on_both, cloud=replace(on_both.cloud, placement=Placement(adapter)))


def a_provider(small: Small) -> str:
    """A compute host's root provider, with inventories and allocations."""
    rows = small.sql("placement", "SELECT uuid FROM resource_providers ORDER BY id")
    return rows[0]["uuid"]


def changed_to(small: Small, target: Target, alter: Callable[[Any], State | None]) -> Change:
    """A change of a target from what it is now."""
    found = changes.read(target, small.cloud)
    return Change(target, found.state, alter(found.state), found.version)


def made(small: Small) -> Change:
    return changed_to(small, ProviderNode(NEW), lambda _: ProviderFields("a new provider"))


def nested(small: Small) -> Change:
    parent = a_provider(small)
    return changed_to(small, ProviderNode(NEW), lambda _: ProviderFields("a nic", parent))


def renamed(small: Small) -> Change:
    target = ProviderNode(a_provider(small))
    return changed_to(small, target, lambda state: structs.replace(state, name="another"))


def re_parented(small: Small) -> Change:
    assert changes.write(made(small), small.cloud).accepted
    parent = a_provider(small)
    return changed_to(small, ProviderNode(NEW), lambda state: structs.replace(state, parent=parent))


def removed(small: Small) -> Change:
    assert changes.write(nested(small), small.cloud).accepted
    return changed_to(small, ProviderNode(NEW), lambda _: None)


def deleted_whole(small: Small) -> Change:
    """With inventories, traits and aggregates, and nothing held of it."""
    assert changes.write(nested(small), small.cloud).accepted
    stock = InventoryFields(8, 1, 1, 8, 1, 1.5)
    filled: list[tuple[Target, State]] = [
        (InventoriesOf(NEW), Inventories({"VGPU": stock})),
        (TraitsOf(NEW), Traits(("OWNER_NOVA",))),
        (AggregatesOf(NEW), Aggregates((AGGREGATE,))),
    ]
    for target, state in filled:
        change = changed_to(small, target, lambda _, state=state: state)
        assert changes.write(change, small.cloud).accepted
    return changed_to(small, WholeProvider(NEW), lambda _: None)


def more_inventory(small: Small) -> Change:
    def alter(state: Inventories) -> Inventories:
        more = structs.replace(state.by_class["VCPU"], total=999, allocation_ratio=2.0)
        return Inventories({**state.by_class, "VCPU": more, "PCPU": more})

    return changed_to(small, InventoriesOf(a_provider(small)), alter)


def more_traits(small: Small) -> Change:
    def alter(state: Traits) -> Traits:
        return Traits(tuple(sorted({*state.names, "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"})))

    return changed_to(small, TraitsOf(a_provider(small)), alter)


def aggregate(small: Small) -> Change:
    target = AggregatesOf(a_provider(small))
    return changed_to(small, target, lambda _: Aggregates((AGGREGATE,)))


def reshaped(small: Small) -> Change:
    """The inventory of one class, and all that is held of it, go to a new child provider."""
    assert changes.write(nested(small), small.cloud).accepted
    root = a_provider(small)
    holders = small.call("GET", f"/resource_providers/{root}/allocations").json()["allocations"]

    def moved(held: Allocations) -> Allocations:
        amounts = {uuid: dict(row) for uuid, row in held.amounts.items()}
        disk = amounts[root].pop("DISK_GB", 0)
        return replace(held, amounts=amounts | ({NEW: {"DISK_GB": disk}} if disk else {}))

    def alter(state: TreeContents) -> TreeContents:
        rest = {name: row for name, row in state.inventories[root].items() if name != "DISK_GB"}
        disk = {"DISK_GB": state.inventories[root]["DISK_GB"]}
        after = {one: moved(held) for one, held in state.by_consumer.items()}
        return TreeContents({root: rest, NEW: disk}, after)

    return changed_to(small, Tree((root, NEW), tuple(sorted(holders))), alter)


MADE = {
    one.__name__: one
    for one in (
        made, nested, renamed, re_parented, removed, deleted_whole, more_inventory, more_traits,
        aggregate, reshaped,
    )
}  # fmt: skip
EVERY = pytest.mark.parametrize("kind", MADE)


def plan_of(small: Small, *steps: Step) -> Plan:
    return replace(small.plan("none"), steps=steps)


@EVERY
def test_a_step_of_each_kind_is_applied_and_undone(on_both, tmp_path, kind):
    change = MADE[kind](on_both)
    before = on_both.ledger()
    plan = plan_of(on_both, step_of((change,), (), ("a-finding",)))
    with applied(plan, on_both.cloud, tmp_path) as run:
        [(_, outcome)] = run.outcomes
    assert outcome.result == "done", outcome.reason
    assert changes.read(change.target, on_both.cloud).state == change.after
    assert on_both.ledger() != before or kind in ("more_traits", "aggregate")
    with undone(run.name, on_both.cloud, tmp_path) as undo:
        [(_, outcome)] = undo.outcomes
    assert outcome.result == "done", outcome.reason
    assert changes.read(change.target, on_both.cloud).state == change.before
    assert on_both.ledger() == before


@EVERY
def test_what_was_written_before_the_run_was_killed_is_done(on_both, tmp_path, kind):
    change = MADE[kind](on_both)
    step = step_of((change,), (), ("a-finding",))
    plan = plan_of(on_both, step)
    with applying(plan, tmp_path, Origin()) as journal:
        journal.intend(step)
        assert changes.write(change, on_both.cloud).accepted
    assert changes.fate(change, changes.read(change.target, on_both.cloud)) is Fate.WRITTEN
    with applied(plan, on_both.cloud, tmp_path) as run:
        [(_, outcome)] = run.outcomes
    assert outcome.result == "done", outcome.reason


@EVERY
def test_a_target_that_was_changed_since_is_refused(on_both, tmp_path, kind):
    change = MADE[kind](on_both)
    changes.write(change, on_both.cloud)
    before = on_both.rows()
    with applied(plan_of(on_both, step_of((change,), (), ())), on_both.cloud, tmp_path) as run:
        [(_, outcome)] = run.outcomes
    assert outcome.result == "refused"
    assert on_both.rows() == before


@pytest.mark.parametrize("kind", ["more_inventory", "more_traits", "aggregate"])
def test_a_generation_that_has_passed_is_refused_by_placement_itself(on_both, kind):
    change = MADE[kind](on_both)
    assert changes.write(change, on_both.cloud).accepted
    reply = changes.write(change, on_both.cloud)
    assert (reply.accepted, reply.definite, reply.conflict) == (False, True, True)


@pytest.mark.parametrize("kind", ["made", "renamed", "removed", "reshaped"])
def test_a_provider_that_was_changed_since_is_not_written_to(on_both, kind):
    change = MADE[kind](on_both)
    assert changes.write(change, on_both.cloud).accepted
    before = on_both.rows()
    reply = changes.write(change, on_both.cloud)
    assert (reply.accepted, reply.definite) == (False, True)
    assert on_both.rows() == before


def test_a_consumer_that_was_written_since_is_refused_by_placement_itself(on_both):
    """Also when the inventories of the tree are what they were."""
    change = reshaped(on_both)
    target = AllocationsOf(change.target.consumers[:1])
    again = changed_to(on_both, target, lambda state: state)
    assert changes.write(again, on_both.cloud).accepted
    before = on_both.rows()
    reply = changes.write(change, on_both.cloud)
    assert (reply.accepted, reply.definite, reply.conflict) == (False, True, True)
    assert on_both.rows() == before


def test_a_provider_that_holds_something_is_not_deleted(on_both):
    change = changed_to(on_both, ProviderNode(a_provider(on_both)), lambda _: None)
    before = on_both.rows()
    reply = changes.write(change, on_both.cloud)
    assert (reply.accepted, reply.definite) == (False, True)
    assert reply.reason
    assert on_both.rows() == before


@pytest.mark.parametrize("target", [InventoriesOf(NEW), TraitsOf(NEW), AggregatesOf(NEW)])
def test_what_belongs_to_a_provider_that_is_not_there_does_not_exist(small, target):
    found = changes.read(target, small.cloud)
    assert (found.state, found.version) == (None, {NEW: None})
