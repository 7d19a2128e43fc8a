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
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs import applied, undone
from trueup.reconcile.runs.journal import Origin
from trueup.reconcile.runs.journals import applying
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
    Version,
    WholeProvider,
    step_of,
)

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


PARTS = pytest.mark.parametrize("kind", ["more_inventory", "more_traits", "aggregate"])


def use_its_provider(small: Small, change: Change) -> None:
    """Write to a consumer of the provider, which moves the provider's generation."""
    provider = change.target.provider
    found = small.call("GET", f"/resource_providers/{provider}/allocations").json()
    consumer = AllocationsOf((min(found["allocations"]),))
    assert changes.write(changed_to(small, consumer, lambda held: held), small.cloud).accepted
    assert changes.read(change.target, small.cloud).version != change.version


@PARTS
def test_a_part_that_is_as_it_was_is_written_and_taken_back_on_a_busy_host(on_both, tmp_path, kind):
    """An allocation moves the generation of the provider, and is no write to the part."""
    change = MADE[kind](on_both)
    plan = plan_of(on_both, step_of((change,), (), ("a-finding",)))
    use_its_provider(on_both, change)
    with applied(plan, on_both.cloud, tmp_path) as run:
        [(_, outcome)] = run.outcomes
    assert outcome.result == "done", outcome.reason
    use_its_provider(on_both, change)
    with undone(run.name, on_both.cloud, tmp_path) as undo:
        [(_, outcome)] = undo.outcomes
    assert outcome.result == "done", outcome.reason
    assert changes.read(change.target, on_both.cloud).state == change.before


@PARTS
def test_a_part_that_somebody_changed_since_is_not_taken_back(on_both, tmp_path, kind):
    change = MADE[kind](on_both)
    with applied(plan_of(on_both, step_of((change,), (), ())), on_both.cloud, tmp_path) as run:
        list(run.outcomes)
    by_others = changed_to(on_both, change.target, _ALTERED[kind])
    assert changes.write(by_others, on_both.cloud).accepted
    before = on_both.rows()
    with undone(run.name, on_both.cloud, tmp_path) as undo:
        [(_, outcome)] = undo.outcomes
    assert "are not what they were" in in_words(outcome.reason)
    assert on_both.rows() == before


_ALTERED: dict[str, Callable[[Any], State]] = {
    "more_inventory": lambda state: Inventories(
        {name: structs.replace(row, reserved=1) for name, row in state.by_class.items()}
    ),
    "more_traits": lambda state: Traits(state.names[:-1]),
    "aggregate": lambda _: Aggregates((NEW,)),
}


@PARTS
def test_a_part_that_is_written_between_the_two_requests_is_refused(on_both, monkeypatch, kind):
    """Its content is read at a generation, and written at that one only."""
    change = MADE[kind](on_both)
    use_its_provider(on_both, change)
    by_others: list[bool] = []

    def beaten(_: object) -> None:
        now_there = changed_to(on_both, change.target, _ALTERED[kind])
        by_others.append(changes.write(now_there, on_both.cloud).accepted)

    reply = changes.write(change, on_both.cloud, beaten)
    assert by_others == [True]
    assert (reply.accepted, reply.definite, reply.conflict) == (False, True, True)
    assert changes.read(change.target, on_both.cloud).state == _ALTERED[kind](change.before)


@PARTS
def test_a_killed_write_at_the_moved_generation_is_recognized(on_both, tmp_path, kind):
    change = MADE[kind](on_both)
    step = step_of((change,), (), ("a-finding",))
    plan = plan_of(on_both, step)
    use_its_provider(on_both, change)
    with applying(plan, tmp_path, Origin()) as journal:
        journal.intend(step)

        def intend_at(version: Version) -> None:
            journal.intend_at(step, (version,))

        assert changes.write(change, on_both.cloud, intend_at).accepted
    with applied(plan, on_both.cloud, tmp_path) as run:
        [(_, outcome)] = run.outcomes
    assert (outcome.result, outcome.contested) == ("done", False)


def test_an_aggregate_that_is_null_is_read_and_compared(small_on):
    """As after a row of `placement_aggregates` lost its uuid: upstream lists it as null."""
    small = small_on("upstream")
    [row, *_] = small.sql(
        "placement", "SELECT resource_provider_id FROM resource_provider_aggregates"
    )
    query = "SELECT uuid FROM resource_providers WHERE id = ?"
    [provider] = small.sql("placement", query, row["resource_provider_id"])
    small.sql("placement", "UPDATE placement_aggregates SET uuid = NULL WHERE id = 1")
    found = changes.read(AggregatesOf(provider["uuid"]), small.cloud)
    assert "" in found.state.uuids
