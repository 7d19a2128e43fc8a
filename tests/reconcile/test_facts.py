# SPDX-License-Identifier: Apache-2.0
"""What facts say about themselves."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.facts import (
    HOST_BELOW,
    ComputeService,
    Coverage,
    Inventory,
    Migration,
    PciDevice,
    Port,
    SourceStatus,
    Unread,
    grouped,
    last_change,
)
from trueup.reconcile.facts.providers import UNLIMITED


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "capacity"),
    [(8, 0, 1.0, 8), (8, 2, 4.0, 24), (8192, 512, 1.0, 7680), (3, 0, 1.5, 4), (1, 1, 16.0, 0)],
)
def test_capacity_is_what_is_not_reserved_times_the_ratio_rounded_down(
    total, reserved, ratio, capacity
):
    assert Inventory(total, reserved, ratio).capacity == capacity


def test_only_hypervisors_that_were_asked_can_have_answered():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nhypervisor h1\nhypervisor h2 silent\n"
    )
    assert facts.hypervisors_that_answered == {"h1"}
    assert replace(facts, hypervisors_asked=frozenset({"h2"})).hypervisors_that_answered == set()
    unasked = facts_of("cell1\n  host h1 VCPU=8\n")
    assert not unasked.domains_read
    assert unasked.hypervisors_that_answered == set()


def test_a_ratio_without_end_has_a_capacity():
    """Written by hand; an amount that no number holds counts as one that nobody uses up."""
    assert Inventory(8, 0, 1e308).capacity == UNLIMITED


def test_an_inventory_allows_multiples_of_its_step_between_its_units():
    stock = Inventory(8, 0, 1.0, min_unit=2, max_unit=6, step_size=2)
    assert [amount for amount in range(9) if stock.allows(amount)] == [2, 4, 6]
    assert Inventory(8, 0, 1.0, step_size=0).allows(3)


def test_coverage_is_complete_when_every_source_answered():
    heard, silent = (
        SourceStatus("Placement", True, 3),
        SourceStatus("cell1", False, reason="it is down"),
    )
    assert Coverage((heard,)).complete
    assert not Coverage((heard, silent)).complete
    assert Coverage((heard, silent)).missing == (silent,)


@pytest.mark.parametrize(
    ("status", "under_way"),
    [
        ("accepted", True),
        ("queued", True),
        ("preparing", True),
        ("running", True),
        ("pre-migrating", True),
        ("post-migrating", True),
        ("finished", True),  # waits for its confirmation
        ("of unknown status", True),
        ("confirmed", False),
        ("reverted", False),
        ("error", False),
        ("failed", False),
        ("completed", False),
        ("cancelled", False),
        ("done", False),
    ],
)
def test_a_migration_is_under_way_until_a_final_status(status, under_way):
    row = Migration("m", "c", "i", "resize", status, source_host="h1", source_node="h1")
    assert row.under_way is under_way


@pytest.mark.parametrize(
    ("forced_down", "seconds_ago", "up"),
    [
        (False, 0, True),
        (False, 60, True),
        (False, 61, False),
        (True, 0, False),
        (False, None, False),
    ],
)
def test_a_service_is_up_while_it_reports_and_is_not_forced_down(forced_down, seconds_ago, up):
    seen = None if seconds_ago is None else NOW - timedelta(seconds=seconds_ago)
    service = ComputeService("cell1", "h1", forced_down, seen)
    assert service.is_up(NOW) is up


def test_a_living_row_outweighs_a_deleted_one_of_another_cell():
    facts = facts_of(
        "cell1\n  host h1\n  server web on h1 deleted=60\n  server old on h1 deleted=60\n"
        "cell2\n  host h2\n  server web on h2\n"
    )
    assert facts.alive.keys() == {uuid_of("web")}
    assert facts.alive[uuid_of("web")].host == "h2"
    assert facts.deleted.keys() == {uuid_of("old")}


def test_moves_are_known_by_their_instance():
    facts = facts_of(
        "cell1\n  host h1\n  host h2\n"
        "  server web on h2\n  evacuation of web from h1 done\n"
        "  server db on h2\n  evacuation of db from h1 completed\n"
        "  server app on h2\n  evacuation of app from h1 pre-migrating\n"
        "  server back on h2\n  evacuation of back from h1 error\n"
        "  server big on h2\n  resize of big from h1 finished\n"
    )
    assert facts.moving.keys() == {uuid_of("app"), uuid_of("big")}


def test_migrations_without_a_uuid_are_not_one():
    facts = facts_of(
        "cell1\n  host h1\n  host h2\n"
        "  server web on h2\n  evacuation of web from h1 done\n"
        "  server db on h2\n  evacuation of db from h1 done\n"
    )
    old = replace(facts, migrations=tuple(replace(row, uuid="") for row in facts.migrations))
    assert old.migrations_of.keys() == {uuid_of("web"), uuid_of("db")}


def test_roots_leave_sharing_and_unknown_providers_out():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8\n"
        "provider nic of h1 SRIOV_NET_VF=8\nprovider pool DISK_GB=1 sharing\n"
    )
    held = {uuid_of(name): {"VCPU": 1} for name in ("nic", "pool", "nobody knows it")}
    assert facts.roots_of(held) == {uuid_of("h1")}
    assert facts.roots_of({}) == frozenset()


def test_lookups_keep_every_row_of_a_place():
    facts = facts_of("cell1\n  host h1 uuid=twin\n  host h2 uuid=twin\n")
    twice = replace(facts, compute_nodes=facts.compute_nodes * 2)
    assert len(facts.nodes_by_uuid[uuid_of("twin")]) == 2
    assert len(twice.nodes_by_place[uuid_of("cell1"), "h1", "h1"]) == 2
    assert [one.name for one in facts.providers_by_name["h2"]] == ["h2"]
    assert facts.service_of(uuid_of("cell1"), "H1").host == "h1"


def test_grouped_keeps_the_order_given():
    assert grouped([("b", 1), ("a", 2), ("b", 0)]) == {"b": (1, 0), "a": (2,)}
    assert list(grouped([("b", 1), ("a", 2)])) == ["b", "a"]


def test_a_source_that_lost_a_row_or_was_silent_leaves_the_coverage_incomplete():
    whole = SourceStatus("cell1", True, 3)
    row = Unread("instances", "7", "", "its uuid is no uuid")
    lossy = SourceStatus("cell2", True, 2, unread=(row,), unread_rows=1, lost_rows=1)
    assert (whole.partial, lossy.partial) == (False, True)
    assert Coverage((whole, lossy)).damaged == (lossy,)
    assert not Coverage((whole, lossy)).complete


def test_a_part_of_a_row_that_cannot_be_understood_is_named_and_the_row_is_there():
    part = Unread("instance_extra", "7", "flavor", "it is no JSON")
    answer = SourceStatus("cell1", True, 3, unread=(part,), unread_rows=1)
    assert answer.partial
    assert not part.lost
    assert Coverage((answer,)).complete


def test_a_soft_deleted_instance_is_alive():
    facts = facts_of("cell1\n  host h1\n  server web on h1 state=soft-delete\n  server db on h1\n")
    assert facts.alive[uuid_of("web")].soft_deleted
    assert not facts.alive[uuid_of("db")].soft_deleted


def test_ports_are_known_by_their_instance_and_pci_devices_by_their_node():
    port = Port("a-port", "web", "compute:nova")
    free, taken = (
        PciDevice("c", 1, f"0000:81:00.{n}", "10de", "1db6", "type-VF", "available", instance)
        for n, instance in enumerate((None, "web"))
    )
    facts = replace(facts_of("cell1\n"), ports=(port,), pci_devices=(free, taken))
    assert facts.ports_by_device == {"web": (port,)}
    assert facts.pci_by_node == {("c", 1): (free, taken)}


@pytest.mark.parametrize(
    ("vif_type", "host", "bound"),
    [
        ("ovs", "h1", True),
        ("", "", True),  # Neutron does not say
        ("ovs", "h2", False),
        ("unbound", "", False),
        ("binding_failed", "h1", False),
    ],
)
def test_a_port_is_bound_on_a_host(vif_type, host, bound):
    port = Port("a-port", "web", "compute:nova", host=host, vif_type=vif_type)
    assert port.bound_on("h1") == bound


TREE = "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\nprovider agent of h1 VCPU=1\n"


@pytest.mark.parametrize(
    ("words", "what", "roots"),
    [
        ("provider nic of agent root=h1 VCPU=1", "", ""),
        ("provider nic of agent root=h2 VCPU=1", "its root is not the top of its tree", "h1 h2"),
        ("provider nic of gone root=h1 VCPU=1", "a parent in its tree is not listed", "nic h1"),
        ("provider nic of nic root=h1 VCPU=1", "its parents form a circle", "nic h1"),
        ("provider pool of gone root=gone VCPU=1 sharing", "", ""),
        ("provider h2 of h1 VCPU=1", HOST_BELOW, "h1"),
        ("provider h2 of agent root=h1 VCPU=1", HOST_BELOW, "h1"),
    ],
)
def test_a_tree_is_broken_where_parents_do_not_lead_to_its_root(words, what, roots):
    facts = facts_of(f"{TREE}{words}\n")
    assert [one.what for one in facts.broken] == ([what] if what else [])
    assert facts.broken_roots.keys() == {uuid_of(name) for name in roots.split()}


def test_the_last_change_of_migrations_is_that_of_those_whose_time_is_known():
    move = Migration("u1", "c1", "i1", "resize", "error", "h1", "h1")
    early, late = (replace(move, updated_at=NOW - timedelta(hours=ago)) for ago in (2, 1))
    assert last_change([late, move, early]) == late.updated_at
    assert last_change([move]) is last_change([]) is None
