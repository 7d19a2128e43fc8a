# SPDX-License-Identifier: Apache-2.0
"""Steps are values: what they change, what guards them, and their inverse."""

from dataclasses import replace

import msgspec
import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import OWNER, uuid_of
from trueup.reconcile.facts import Allocations, InstanceState, instance_state
from trueup.reconcile.steps import (
    AgentsDown,
    Aggregates,
    AggregatesOf,
    AggregatesOfHost,
    AllocationsOf,
    CellFresh,
    Change,
    DomainDefinition,
    DomainIs,
    DomainText,
    Held,
    HostEmpty,
    Inventories,
    InventoriesOf,
    InventoryFields,
    MigrationState,
    NodeGone,
    NodeIs,
    NoInstance,
    NotShared,
    PortBinding,
    Profile,
    ProviderContents,
    ProviderFields,
    ProviderNode,
    ServiceDown,
    ServiceFields,
    ServiceRecord,
    ServiceSetting,
    Step,
    Traits,
    TraitsOf,
    Tree,
    TreeContents,
    VersionIs,
    WholeProvider,
    allocations_step,
    at_versions,
    growth,
    releases,
    step_growth,
    step_of,
    swapped,
)

CLOUD = """
cell1
  host h1 VCPU=8
  host h2 VCPU=8
  server web on h1 VCPU=2 MEMORY_MB=256
  server db on h1 VCPU=2 MEMORY_MB=256
holds web h2 VCPU=2
"""


def held(*pairs: tuple[str, int]) -> Allocations:
    return Allocations(amounts={name: {"VCPU": amount} for name, amount in pairs}, **OWNER)


def test_how_much_more_is_held_by_provider_and_class():
    before = Allocations(amounts={"a": {"VCPU": 2, "DISK_GB": 1}, "b": {"VCPU": 1}}, **OWNER)
    after = Allocations(amounts={"a": {"VCPU": 3}, "b": {"VCPU": 1}}, **OWNER)
    assert growth(before, after) == {("a", "DISK_GB"): -1, ("a", "VCPU"): 1}
    assert growth(None, None) == {}


def test_a_step_goes_from_what_is_held_and_carries_its_version_and_guard():
    facts = facts_of(CLOUD)
    web = facts.alive[uuid_of("web")]
    after = held(("h1", 2))
    guard = instance_state(web, moving=False)
    step = allocations_step({web.uuid: after}, facts, ("a reason",), (guard,))
    [change] = step.changes
    assert change.target == AllocationsOf((web.uuid,))
    assert change.before == Held({web.uuid: facts.holdings[web.uuid].allocations})
    assert change.after == Held({web.uuid: after})
    assert change.version == {web.uuid: 1}
    assert step.guards == (guard,)
    assert (step.id, step.because, step.consumers) == (
        f"allocations:{web.uuid}", ("a reason",), (web.uuid,)
    )  # fmt: skip
    assert step.subjects == {web.uuid}


def test_a_step_on_a_consumer_that_holds_nothing_wants_it_not_to_exist():
    facts = facts_of(CLOUD)
    db = facts.alive[uuid_of("db")]
    [change] = allocations_step({db.uuid: held(("h1", 2))}, facts, ("a reason",), ()).changes
    assert change.before == Held({db.uuid: None})
    assert change.version == {db.uuid: None}


def test_a_step_on_several_consumers_changes_them_at_once():
    facts = facts_of(CLOUD)
    web, db = uuid_of("web"), uuid_of("db")
    step = allocations_step({web: None, db: held((uuid_of("h1"), 3))}, facts, ("a",), ())
    assert step.consumers == tuple(sorted((web, db)))
    assert step.subjects == {web, db}
    assert step_growth(step) == {(uuid_of("h1"), "VCPU"): 3, (uuid_of("h2"), "VCPU"): -2}


def test_the_state_of_an_instance_is_as_it_was_read_and_whether_it_moves():
    facts = facts_of(CLOUD)
    web = replace(facts.alive[uuid_of("web")], task_state="migrating", node="another")
    found = instance_state(web, moving=True)
    assert (found.uuid, found.cell, found.host, found.node) == (
        web.uuid, uuid_of("cell1"), "h1", "another"
    )  # fmt: skip
    assert (found.vm_state, found.task_state, found.deleted, found.moving) == (
        "active", "migrating", False, True
    )  # fmt: skip
    assert found.updated_at == web.updated_at


INVENTORY = InventoryFields(8, 0, 1, 8, 1, 4.0)
BOTH = {"c": held(("a", 1)), "d": None}
CHANGES = {
    "allocations": (AllocationsOf(("c", "d")), Held(BOTH)),
    "provider": (ProviderNode("p"), ProviderFields("name")),
    "inventories": (InventoriesOf("p"), Inventories({"VCPU": INVENTORY})),
    "traits": (TraitsOf("p"), Traits(("CUSTOM_A", "CUSTOM_B"))),
    "aggregates": (AggregatesOf("p"), Aggregates(("x",))),
    "tree": (Tree(("p", "q"), ("c", "d")), TreeContents({"p": {"VCPU": INVENTORY}}, BOTH)),
    "port-binding": (PortBinding("t"), Profile({"allocation": {"group": "p"}, "n": 1})),
    "compute-service": (ServiceRecord("cell", "h1"), ServiceFields(True, "why", False)),
    "whole-provider": (
        WholeProvider("p"),
        ProviderContents("name", "a", {"VCPU": {"total": 8, "ratio": 1.5}}, ("CUSTOM_A",), ("x",)),
    ),
    "domain": (DomainDefinition("h1", "i"), DomainText("<domain/>")),
}
GUARDS = (
    InstanceState("cell", "i", "h1", "h1", "active", None, False, False, None),
    MigrationState("cell", "i", "m", "error"),
    VersionIs(TraitsOf("p"), {"p": 3}),
    ServiceDown("cell", "h1"),
    CellFresh("cell", 60),
    DomainIs("h1", "i", None),
    ServiceSetting("cell", "h1", True),
    AggregatesOfHost("h1", ("x",)),
    NotShared(("x",)),
    NodeIs("cell", "h1", "n"),
    NodeGone("n", "h1", "cell", "h1"),
    HostEmpty("h1"),
    AgentsDown("h1"),
    NoInstance("i"),
)


@pytest.mark.parametrize("kind", CHANGES)
def test_steps_of_every_kind_come_back_from_a_file_as_they_were(kind):
    target, state = CHANGES[kind]
    change = Change(target, None, state, {"p": 3, "c": None, "t": "digest"})
    step = step_of((change,), GUARDS, ("a finding",), needs=("another",))
    assert step.id.startswith(f"{kind}:")
    assert msgspec.json.decode(msgspec.json.encode(step), type=Step) == step


def test_a_swapped_step_is_its_inverse_last_change_first():
    changes = tuple(Change(*CHANGES[kind], None, {"p": 1}) for kind in ("traits", "aggregates"))
    step = step_of(changes, GUARDS, ("a finding",), needs=("another",))
    back = swapped(step, [{"p": 2}, {"p": 3}])
    assert [(one.target, one.before, one.after, one.version) for one in back.changes] == [
        (changes[1].target, None, changes[1].before, {"p": 3}),
        (changes[0].target, None, changes[0].before, {"p": 2}),
    ]
    assert back.guards == (GUARDS[0],)
    assert back.needs == ()
    assert back.id == step.id


def test_a_reshape_counts_all_its_consumers():
    target, state = CHANGES["tree"]
    step = step_of((Change(target, state, state, {}),), (), ())
    assert step.subjects == {"c", "d"}
    assert step.consumers == ("c", "d")


def test_the_same_step_for_other_versions():
    target, state = CHANGES["traits"]
    step = step_of((Change(target, None, state, {"p": 1}),), (), ())
    assert at_versions(step, [{"p": 5}]).changes[0].version == {"p": 5}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"h1": {"VCPU": 2}}, False),
        ({"h1": {"VCPU": 2}}, {"h1": {"VCPU": 2}, "h2": {"VCPU": 2}}, False),
        ({"h1": {"VCPU": 2}}, {"h1": {"VCPU": 1}}, True),
        ({"h1": {"VCPU": 2}}, {"h2": {"VCPU": 2}}, True),
        ({"h1": {"VCPU": 2}}, {}, True),
    ],
)
def test_what_moves_a_claim_releases_it_where_it_was(before, after, expected):
    sides = [Held({"a": Allocations(one, **OWNER) if one else None}) for one in (before, after)]
    change = Change(AllocationsOf(("a",)), sides[0], sides[1], {"a": 1})
    assert releases(step_of((change,), (), ())) == expected


def test_two_consumers_that_change_places_release_both():
    """Together they hold as much as before."""

    def held(first: str, second: str) -> Held:
        places = {"a": first, "b": second}
        return Held(
            {one: Allocations({uuid: {"VCPU": 1}}, **OWNER) for one, uuid in places.items()}
        )

    change = Change(AllocationsOf(("a", "b")), held("h1", "h2"), held("h2", "h1"), {"a": 1, "b": 1})
    step = step_of((change,), (), ())
    assert step_growth(step) == {}
    assert releases(step)
