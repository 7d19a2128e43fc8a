# SPDX-License-Identifier: Apache-2.0
"""An audit asks every defect, says what it could not check, and can be kept in a file.

What each defect finds is in tests/scenarios/audits.
"""

from dataclasses import replace

import pytest

from tests.reconcile.planning import BROKEN, audited, facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.audit import LookUnusable, audit, load, save, seen_twice
from trueup.reconcile.facts import Migration
from trueup.reconcile.findings import Finding, LeftAlone
from trueup.reconcile.rules import Rules

EVERYTHING = f"""{BROKEN}
  server busy on h1 task=migrating
  server lost on h9
cell2 silent
holds stranger h1 VCPU=1
"""


def test_findings_come_in_the_order_of_the_defects():
    assert [(one.defect, one.subject) for one in audited(BROKEN).findings] == [
        ("orphaned_allocation", uuid_of("old")),
        ("missing_allocation", uuid_of("web")),
        ("wrong_provider", uuid_of("db")),
    ]


def test_the_same_facts_give_the_same_audit():
    assert audited(EVERYTHING) == audited(EVERYTHING)


@pytest.mark.parametrize(
    ("text", "incomplete"),
    [
        ("cell1\n  host h1 VCPU=8\n", False),
        (BROKEN, False),
        ("cell1\n  host h1 VCPU=8\ncell2 silent\n", True),
        ("cell1\n  host h1 without-provider\n", True),
        ("cell1\n  host h1 VCPU=8\n  server web on h1 task=deleting\n", False),
    ],
)
def test_silence_and_what_cannot_be_checked_make_an_audit_incomplete(text, incomplete):
    assert audited(text).incomplete is incomplete


def test_a_host_that_cannot_be_told_says_how_many_instances_were_not_checked():
    [unchecked] = audited(
        "cell1\n  host h1 without-provider\n  server web on h1\n  server db on h1\n"
    ).unchecked
    assert (unchecked.subject, unchecked.where) == ("host h1", "cell1")
    assert unchecked.reason.endswith("2 instances on it were not checked")


def test_consumers_that_are_no_instances_are_left_alone_each_for_its_reason():
    facts = facts_of(
        "cell1\n  host h1 VCPU=8\n  host h2 VCPU=8\n  server web on h1\n"
        "holds web h1 VCPU=1\nholds boot h1 VCPU=1\nholds move h2 VCPU=1\nholds zun h1 VCPU=1\n"
        "build boot\n"
    )
    move = Migration(
        uuid_of("move"), uuid_of("cell1"), uuid_of("web"), "resize", "finished", "h2", "h2"
    )
    left = audit(replace(facts, migrations=(move,)), Rules()).left_alone
    assert {row.subject: (row.where, row.reason) for row in left} == {
        f"instance {uuid_of('web')}": ("h1", "its resize is finished"),
        f"consumer {uuid_of('boot')}": ("h1", "it has a build request"),
        f"consumer {uuid_of('move')}": ("h2", "it holds the source of a migration under way"),
        f"consumer {uuid_of('zun')}": (
            "h1",
            "no instance in any cell that answered has its uuid; its owner is not known",
        ),
    }


def test_the_grace_is_what_the_rules_say():
    text = "cell1\n  host h1 VCPU=8\n  server old on h1 deleted=20\nholds old h1 VCPU=1\n"
    assert [type(one) for one in audit(facts_of(text), Rules()).left_alone] == [LeftAlone]
    assert len(audit(facts_of(text), Rules(grace_seconds=20)).findings) == 1
    assert len(audit(facts_of(text), Rules(grace_seconds=21)).findings) == 0


def test_only_what_both_looks_found_with_the_same_evidence_was_seen_twice():
    first = audited(BROKEN)
    [orphan, missing, wrong] = first.findings
    moved = replace(wrong, evidence={**wrong.evidence, "holds": "VCPU=1 on h3"})
    new = Finding("missing_allocation", uuid_of("new"), "h1", {})
    second = replace(first, findings=(new, moved, missing))
    assert seen_twice(first, second) == (missing,)
    assert seen_twice(second, first) == (missing,)
    assert seen_twice(first, first) == (orphan, missing, wrong)


def test_an_audit_comes_back_from_its_file_as_it_was(tmp_path):
    kept = audited(EVERYTHING)
    assert kept.findings or kept.unchecked
    assert kept.left_alone
    save(kept, tmp_path / "look.json")
    assert load(tmp_path / "look.json") == kept
    assert load(tmp_path / "look.json").taken_at == NOW


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[]", b"{}", b"nonsense", b'{"findings": []}', b"\xff\xfe", b'{"taken_at": 1}'],
)
def test_what_is_no_audit_is_refused_by_name(tmp_path, content):
    path = tmp_path / "look.json"
    path.write_bytes(content)
    with pytest.raises(LookUnusable) as refused:
        load(path)
    assert refused.value.path == str(path)
    assert "it is not an audit" in refused.value.reason


def test_half_an_audit_is_refused(tmp_path):
    path = tmp_path / "look.json"
    save(audited(EVERYTHING), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LookUnusable):
        load(path)


def test_a_file_that_cannot_be_read_or_written_is_refused_by_name(tmp_path):
    with pytest.raises(LookUnusable) as unread:
        load(tmp_path / "none.json")
    assert "No such file" in unread.value.reason
    with pytest.raises(LookUnusable) as unwritten:
        save(audited(BROKEN), tmp_path / "none" / "look.json")
    assert unwritten.value.path == str(tmp_path / "none" / "look.json")
