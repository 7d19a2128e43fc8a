# SPDX-License-Identifier: Apache-2.0
"""Residence: an instance is on a provider, in motion, on no host, or undetermined."""

from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from tests.reconcile.planning import facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.facts import INSTANCE_MAPPINGS, Facts, Unsupported
from trueup.reconcile.reasons import because
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.rules.residence import (
    InMotion,
    NoHost,
    Placed,
    Residence,
    Unconfirmed,
    Undetermined,
    residence,
)

HOSTS = "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8 up\n"


def residence_of(facts: Facts, name: str = "web") -> Residence:
    uuid = uuid_of(name)
    return residence(facts.alive[uuid], facts.record(uuid), facts)


@pytest.mark.parametrize(
    "state", ["active", "stopped", "paused", "error", "soft-delete", "rescued"]
)
def test_a_settled_instance_stands_on_the_provider_of_its_compute_node(state):
    facts = facts_of(f"{HOSTS}  server web on h1 state={state}\n")
    assert residence_of(facts) == Placed(facts.providers[uuid_of("h1")])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("server web on h1 task=rebuilding", "its task state is rebuilding"),
        ("server web on h1 state=building", "it is being built"),
        ("server web on h1 state=deleted", "it is being deleted"),
        (
            "server web on h1\ncell2\n  server web on h9 hidden",
            "it is being moved to or from another cell",
        ),
        ("server web task=spawning", "its task state is spawning"),
        ("server web on h1\n  live-migration of web from h2 running", "of its live-migration is"),
        ("server web on h1\n  resize of web from h2 accepted", "of its resize is accepted"),
        ("server web on h1\nbuild web", "it has a build request"),
    ],
)  # fmt: skip
def test_what_is_under_way_is_in_motion(line, words):
    place = residence_of(facts_of(f"{HOSTS}  {line}\n"))
    assert isinstance(place, InMotion)
    assert words in in_words(place.reason)


def test_a_move_that_has_just_ended_is_in_motion_before_nova_writes_the_state():
    facts = facts_of(f"{HOSTS}  server web on h1\n  resize of web from h2 finished\n")
    [move] = facts.migrations
    for age, kind in ((4, InMotion), (6, Undetermined)):
        ended = replace(move, updated_at=NOW - timedelta(minutes=age))
        assert isinstance(residence_of(replace(facts, migrations=(ended,))), kind)


@pytest.mark.parametrize(
    ("moment", "moving"),
    [
        (NOW - timedelta(seconds=1), False),
        (NOW, True),
        (NOW + timedelta(seconds=1), True),
        # By the clock of another time zone; else it would never be judged.
        (NOW + timedelta(minutes=5, seconds=30), False),
    ],
)
def test_what_changed_while_the_facts_were_read_is_in_motion(moment, moving):
    facts = facts_of(f"{HOSTS}  server web on h1\n")
    changed = replace(facts, instances=(replace(facts.instances[0], updated_at=moment),))
    assert isinstance(residence_of(changed), InMotion) is moving


def test_a_row_without_a_state_is_taken_for_one_being_built():
    facts = facts_of(f"{HOSTS}  server web on h1\n")
    unknown = replace(facts, instances=(replace(facts.instances[0], vm_state=None),))
    assert residence_of(unknown) == InMotion(because("being-built"))


@pytest.mark.parametrize("state", ["shelved_offloaded", "error", "soft-delete"])
def test_an_offloaded_or_failed_instance_stands_nowhere(state):
    assert residence_of(facts_of(f"{HOSTS}  server web state={state}\n")) == NoHost()


@pytest.mark.parametrize("state", ["active", "stopped", "shelved"])
def test_an_instance_that_should_be_on_a_host_does_not_stand_nowhere(state):
    place = residence_of(facts_of(f"{HOSTS}  server web state={state}\n"))
    assert place == Undetermined(because("state-on-no-host", vm_state=state))


@pytest.mark.parametrize(("ended", "moving"), [(1, True), (299, True), (300, False)])
def test_a_resized_instance_whose_resize_is_over_waits_for_nothing(ended, moving):
    """Nova ends the migration first, and then the state."""
    facts = facts_of(
        f"{HOSTS}  server web on h1 state=resized\n  resize of web from h2 confirmed\n"
    )
    moment = NOW - timedelta(seconds=ended)
    migrations = tuple(replace(row, updated_at=moment) for row in facts.migrations)
    place = residence_of(replace(facts, migrations=migrations))
    assert isinstance(place, InMotion if moving else Undetermined)


def test_a_move_waits_for_confirmation_unless_sources_contradict_each_other():
    facts = facts_of(f"{HOSTS}  server web on h1 state=resized\n  resize of web from h2 finished\n")
    instance, record = facts.alive[uuid_of("web")], facts.record(uuid_of("web"))
    assert residence(instance, record, facts) == Unconfirmed(*facts.migrations)
    doubted = structs.replace(record, misspelled=("WEB",))
    assert residence(instance, doubted, facts) == InMotion(
        because("move-status", kind="resize", status="finished")
    )
    twice = structs.replace(record, rows=(*record.rows, *record.rows))
    assert residence(instance, twice, facts) == InMotion(
        because("move-status", kind="resize", status="finished")
    )


@pytest.mark.parametrize(
    ("host", "node", "words"),
    [(None, "h1", "host none and node h1"), ("h1", None, "host h1 and node none")],
)
def test_a_host_without_a_node_is_no_place_and_not_nowhere(host, node, words):
    facts = facts_of(f"{HOSTS}  server web on h1 state=error\n")
    half = replace(facts.instances[0], host=host, node=node)
    place = residence_of(replace(facts, instances=(half,)))
    assert in_words(place.reason) == f"its row in Nova has {words}"


def test_rows_that_are_alive_are_named_by_their_hosts_in_one_cell_and_by_cell_in_two():
    one = facts_of(f"{HOSTS}  server web on h1\n  server web on h2\n")
    assert in_words(residence_of(one).reason) == "it is alive in cell1, on h1 and on h2"
    half = facts_of(f"{HOSTS}  server web on h1\n  server web state=shelved_offloaded\n")
    assert in_words(residence_of(half).reason) == "it is alive in cell1, on h1 and on no host"
    two = facts_of(f"{HOSTS}  server web on h1\ncell2\n  host h3 VCPU=8\n  server web on h3\n")
    assert in_words(residence_of(two).reason) == "several rows of it are alive, in cell1 and cell2"


def test_an_empty_task_state_is_named():
    facts = facts_of(f"{HOSTS}  server web on h1\n")
    empty = replace(facts, instances=(replace(facts.instances[0], task_state=""),))
    assert residence_of(empty) == InMotion(because("task-state", task=""))


def test_a_compute_node_without_a_uuid_has_no_provider():
    facts = facts_of(f"{HOSTS}  server web on h1\n")
    without = tuple(replace(row, uuid="") for row in facts.compute_nodes)
    place = residence_of(replace(facts, compute_nodes=without))
    assert in_words(place.reason) == "its compute node h1 has no uuid in cell1"


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("cell1\n  host h2 VCPU=8\n", "cell1 has no compute node for host h1, node h1"),
        ("cell1\n  host h1 without-provider\n", "Placement has no provider with uuid"),
        ("cell1\n  host h1 VCPU=8 uuid=other\n", "but the provider of that name has uuid"),
        (
            "cell1\n  host h1 VCPU=8 uuid=twin\n  host h3 VCPU=8 uuid=twin\n",
            "compute nodes h1/h1, h3/h3 have one uuid",
        ),
    ],
)
def test_without_one_provider_the_residence_is_undetermined(hosts, words):
    place = residence_of(facts_of(f"{hosts}  server web on h1\n"))
    assert isinstance(place, Undetermined)
    assert words in in_words(place.reason)


def test_two_compute_nodes_in_one_place_tell_nothing():
    facts = facts_of(f"{HOSTS}  server web on h1\n")
    [node, *_] = facts.compute_nodes
    doubled = replace(facts, compute_nodes=(*facts.compute_nodes, replace(node, uuid="another")))
    assert (
        in_words(residence_of(doubled).reason) == "cell1 has 2 compute nodes for host h1, node h1"
    )


@pytest.mark.parametrize(("namesakes", "doubted"), [(0, True), (1, False)])
def test_names_are_exchanged_only_where_one_compute_node_has_the_name(namesakes, doubted):
    """Several cells may have a host of one name; then the name says nothing."""
    others = "cell2\n  host h1 VCPU=8 uuid=h1-of-cell2\n" * namesakes
    facts = facts_of(f"{HOSTS}  server web on h1\n{others}")
    swapped = {uuid_of("h1"): "h2", uuid_of("h2"): "h1"}
    providers = {
        uuid: replace(row, name=swapped.get(uuid, row.name))
        for uuid, row in facts.providers.items()
    }
    place = residence_of(replace(facts, providers=providers))
    assert isinstance(place, Undetermined) is doubted


def test_without_a_mapping_a_silent_cell_may_have_the_instance_too():
    """Unless mappings are not read, as over Nova's API, or only another source is silent."""
    text = f"{HOSTS}  server web on h1\ncell2 silent\nmap web none\n"
    facts = facts_of(text)
    assert (
        in_words(residence_of(facts).reason)
        == "no instance mapping says which cell it is in, and cell2 did not answer"
    )
    placement, *cells = facts.coverage.sources
    unread = replace(placement, unsupported=(Unsupported(INSTANCE_MAPPINGS, "an API"),))
    coverage = replace(facts.coverage, sources=(unread, *cells))
    assert isinstance(residence_of(replace(facts, coverage=coverage)), Placed)
    assert isinstance(residence_of(facts_of(text.replace("map web none\n", ""))), Placed)
    assert isinstance(residence_of(facts_of(text.replace("cell2", "neutron"))), Placed)
