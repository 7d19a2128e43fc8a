# SPDX-License-Identifier: Apache-2.0
"""An audit asks every defect, says and says what it could not check.

What each defect finds is in tests/scenarios/audits.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.planning import BROKEN, audited, facts_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.audit import audit
from trueup.reconcile.facts import Migration
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import AuditOptions, LeftAlone

EVERYTHING = f"""{BROKEN}
  server busy on h1 task=migrating
  server lost on h9
cell2 silent
holds stranger h1 VCPU=1
"""


def test_findings_come_in_the_order_of_the_defects():
    assert [(one.defect, one.subject.uuid) for one in audited(BROKEN).findings] == [
        ("orphaned-allocation", uuid_of("old")),
        ("missing-allocation", uuid_of("web")),
        ("wrong-provider", uuid_of("db")),
    ]


def test_the_same_facts_give_the_same_audit():
    assert audited(EVERYTHING) == audited(EVERYTHING)


@pytest.mark.parametrize(
    ("text", "incomplete"),
    [
        ("cell1\n  host h1 VCPU=8\n", False),
        (BROKEN, False),
        ("cell1\n  host h1 VCPU=8\ncell2 silent\n", True),
        ("cell1\n  host h1 without-provider\n  server web on h1\n", True),
        ("cell1\n  host h1 VCPU=8\n  server web on h1 task=deleting\n", False),
    ],
)
def test_silence_and_what_cannot_be_checked_make_an_audit_incomplete(text, incomplete):
    assert audited(text).incomplete is incomplete


def test_a_provider_that_went_while_its_consumers_were_read_has_its_uuid_for_a_name():
    """As between the requests for allocations and for the provider, over Placement's API."""
    facts = facts_of("cell1\n  host h1 VCPU=8\nholds stranger h1 VCPU=1\n")
    [stranger] = audit(replace(facts, providers={}), AuditOptions()).left_alone
    assert (stranger.subject.uuid, stranger.where) == (uuid_of("stranger"), uuid_of("h1"))


def test_a_host_that_cannot_be_told_says_how_many_instances_were_not_checked():
    [unchecked] = audited(
        "cell1\n  host h1 without-provider\n  server web on h1\n  server db on h1\n"
    ).unchecked
    assert (str(unchecked.subject), unchecked.where) == ("host h1", "cell1")
    assert in_words(unchecked.reason).endswith("2 instances on it could not be checked")


def test_what_is_in_motion_says_when_nova_last_changed_it():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8\n  server busy on h1 task=migrating\n"
        "  server web on h1\n  live-migration of web from h1 running\n"
    )
    hour_ago = facts.taken_at - timedelta(hours=1)
    moves = tuple(replace(row, updated_at=hour_ago) for row in facts.migrations)
    left = audit(replace(facts, migrations=moves), AuditOptions()).left_alone
    assert {row.subject.uuid: row.since for row in left} == {
        uuid_of("busy"): facts.taken_at - timedelta(minutes=5),
        uuid_of("web"): hour_ago,
    }


def test_consumers_that_are_no_instances_are_left_alone_each_for_its_reason():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\n  server web on h1\n"
        "holds web h1 VCPU=1\nholds boot h1 VCPU=1\nholds move h2 VCPU=1\nholds zun h1 VCPU=1\n"
        "build boot\n"
    )
    move = Migration(
        uuid_of("move"), uuid_of("cell1"), uuid_of("web"), "resize", "accepted", "h2", "h2"
    )
    left = audit(replace(facts, migrations=(move,)), AuditOptions()).left_alone
    assert {str(row.subject): (row.where, in_words(row.reason)) for row in left} == {
        f"instance {uuid_of('web')}": ("h1", "the status of its resize is accepted"),
        f"build {uuid_of('boot')}": ("h1", "no cell has it yet: it has a build request"),
        f"consumer {uuid_of('move')}": ("h2", "it holds the source of a migration under way"),
        f"consumer {uuid_of('zun')}": (
            "h1",
            "no instance in any cell that answered has its uuid; its owner is not known",
        ),
    }


def test_the_grace_is_what_the_rules_say():
    text = "cell1\n  host h1 VCPU=8\n  server old on h1 deleted=20\nholds old h1 VCPU=1\n"
    assert [type(one) for one in audit(facts_of(text), AuditOptions()).left_alone] == [LeftAlone]
    assert len(audit(facts_of(text), AuditOptions(grace_seconds=20)).findings) == 1
    assert len(audit(facts_of(text), AuditOptions(grace_seconds=21)).findings) == 0


def test_what_was_deleted_while_the_cloud_was_read_is_left_alone():
    """Reading took an hour, and the deletion is of its middle, far ahead of its beginning."""
    text = "cell1\n  host h1 VCPU=8\n  server old on h1 deleted=-1800\nholds old h1 VCPU=2\n"
    facts = facts_of(text)
    assert [row.defect for row in audit(facts, AuditOptions()).findings] == ["orphaned-allocation"]
    [first, *rest] = facts.coverage.sources
    read = replace(first, answered_at=facts.taken_at + timedelta(hours=1))
    slow = replace(facts, coverage=replace(facts.coverage, sources=(read, *rest)))
    result = audit(slow, AuditOptions())
    assert result.findings == ()
    assert "its time of deletion is 1800 s ahead of our clock" in in_words(
        result.left_alone[0].reason
    )
