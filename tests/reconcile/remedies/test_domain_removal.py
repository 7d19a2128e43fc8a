# SPDX-License-Identifier: Apache-2.0
"""When the definition of a ghost is removed, what is lost with it, and what comes after."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import facts_of
from tests.scenarios.names import uuid_of
from trueup.reconcile.facts import DomainRecord, Facts, InstanceState
from trueup.reconcile.plan import after_domain_removal, undefined_by
from trueup.reconcile.reasons import Reason
from trueup.reconcile.remedies.domain_removal import domain_removals, left_to_nova
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.steps import DomainIs
from trueup.reconcile.verdicts import Finding, Severity, Subject

GHOST = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  host h2 VCPU=8 MEMORY_MB=8192
  server old on h1 deleted={deleted}
guest old on h1 {state}
"""
OLD = uuid_of("old")
FINDING = Finding("ghost-domain", Subject("instance", OLD), "h1", Severity.LOW, {})


def ghost(state: str = "shut off", deleted: str = "3600", **record: object) -> Facts:
    facts = facts_of(GHOST.format(state=state, deleted=deleted))
    text = "<domain><name>old</name></domain>"
    return replace(facts, domain_records=(DomainRecord(OLD, "h1", text, **record),))


def steps_for(facts: Facts, *discards: str):
    return domain_removals(FINDING, facts.deleted[OLD], facts, discards)


def test_a_definition_that_is_removed_has_guards_of_instance_and_guest():
    [step] = steps_for(ghost())
    [change] = step.changes
    assert (change.target.host, change.target.domain, change.after) == ("h1", OLD, None)
    assert change.target.discards == ()
    kinds = {type(one): one for one in step.guards}
    assert kinds[DomainIs] == DomainIs("h1", OLD, "shut off")
    assert kinds[InstanceState].deleted


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (ghost("running"), "its guest is running on h1"),
        (ghost("paused"), "its guest is paused on h1"),
        (ghost(deleted="unknown"), "it is not known when its instance was deleted"),
        (ghost(managed_save=True), "the memory of its guest is saved on h1"),
        (ghost(snapshots=2), "libvirt has 2 snapshots of it on h1"),
        (replace(ghost(), domain_records=()), "its definition was not read"),
    ],
)
def test_whatever_would_be_lost_is_a_reason_to_decline(facts, reason):
    declined = steps_for(facts)
    assert isinstance(declined, Reason)
    assert in_words(declined).startswith(reason)


@pytest.mark.parametrize(
    ("word", "guest", "whose"),
    [
        ("", "guest old on h1 shut off", "nova-compute's"),
        ("archived", "guest old on h1 shut off", "the plan's"),
        ("by-hand", "guest old on h1 shut off", "the plan's"),
        ("", "guest old on h1 shut off foreign", "the plan's"),
        ("", "hypervisor h1", "the plan's"),
    ],
)
def test_nova_compute_cleans_up_after_the_rows_that_it_sees(word, guest, whose):
    text = GHOST.format(state="shut off", deleted=f"3600 {word}")
    facts = facts_of(text.replace("guest old on h1 shut off", guest))
    reason = left_to_nova(facts.deleted[OLD], facts)
    assert bool(reason) is (whose == "nova-compute's")


@pytest.mark.parametrize("host", ["h1", "H1"])
def test_where_nova_compute_is_up_it_has_had_its_chance(host):
    text = GHOST.format(state="shut off", deleted="3600").replace("h1", host)
    facts = facts_of(text.replace(f"host {host} VCPU=8", f"host {host} up VCPU=8"))
    assert left_to_nova(facts.deleted[OLD], facts) is None


def test_only_what_is_named_and_there_is_lost():
    [step] = steps_for(ghost("running", nvram="/vars.fd"), "guest", "managed-save")
    assert step.changes[0].target.discards == ("guest",)
    [step] = steps_for(ghost(nvram="/vars.fd", managed_save=True), "nvram", "managed-save")
    assert step.changes[0].target.discards == ("managed-save", "nvram")


def test_a_guest_that_is_to_be_stopped_may_stop_by_itself():
    [step] = steps_for(ghost("running"), "guest")
    assert DomainIs not in {type(one) for one in step.guards}


def test_each_host_that_has_the_domain_gets_a_step():
    facts = facts_of(GHOST.format(state="shut off", deleted="3600") + "guest old on h2 shut off")
    records = tuple(DomainRecord(OLD, host, "<domain/>") for host in ("h1", "h2"))
    first, second = steps_for(replace(facts, domain_records=records))
    assert first.id != second.id
    assert after_domain_removal([first, second], facts).steps == (first, second)
    assert list(undefined_by(first)) == list(undefined_by(second)) == [OLD]
