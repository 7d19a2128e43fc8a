# SPDX-License-Identifier: Apache-2.0
"""The table of an audit: its rows, their order, and what each says."""

import json
from datetime import timedelta

import pytest

from tests.reconcile.planning import BROKEN, facts_of
from tests.reconcile.report.showing import MIXED, TODAY, WHOLE, said, shown_of
from tests.scenarios.drafting import uuid_of
from trueup.reconcile.report.audit_table import audit_columns, audit_table
from trueup.reconcile.report.audit_view import AuditView
from trueup.reconcile.report.tables import Cell
from trueup.reconcile.verdicts import Acknowledgement
from trueup.reconcile.wording import age_in_words

ALL = AuditView(everything=True)


def reported(
    text: str, view: AuditView = WHOLE, *acknowledgements: Acknowledgement
) -> list[dict[str, Cell]]:
    """Each row by column; every row has a cell for each column, and is plain enough for JSON."""
    shown = shown_of(text, view, *acknowledgements)
    columns, rows = audit_table(*shown, facts_of(text).alive)
    json.dumps(rows, default=lambda cell: dict(cell.evidence))
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_findings_come_first_then_what_could_not_be_checked():
    verdicts = [row["Verdict"] for row in reported(MIXED)]
    assert verdicts == sorted(verdicts, key=["finding", "could not check"].index)
    assert set(verdicts) == {"finding", "could not check"}


def test_with_everything_also_what_was_left_alone_comes_last():
    few, every = reported(MIXED), reported(MIXED, ALL)
    assert every[: len(few)] == few
    assert [row["Verdict"] for row in every[len(few) :]] == ["left alone"]
    assert every[-1]["Evidence"] == {"instance": "busy", "reason": "its task state is migrating"}
    assert every[-1]["Age"] == "5 minutes"


def test_with_everything_also_what_is_right_is_told():
    right = "cell1\n  host h1 VCPU=8\n  server web state=shelved_offloaded VCPU=2 MEMORY_MB=256\n"
    assert reported(right) == []
    [row] = reported(right, ALL)
    assert (row["Verdict"], row["Subject"]) == ("right", uuid_of("web"))
    assert row["Evidence"] == {"instance": "web", "reason": "is on no host, and holds nothing"}


def test_a_finding_is_told_with_its_effect_and_its_evidence():
    [web] = [row for row in reported(BROKEN) if row["Subject"] == uuid_of("web")]
    evidence = web.pop("Evidence")
    assert web == {
        "Verdict": "finding",
        "Severity": "high",
        "Defect": "missing-allocation",
        "Kind": "instance",
        "Subject": uuid_of("web"),
        "Where": "h1",
        "Age": "",
        "Effect": {
            "capacity": "h1: VCPU=2 MEMORY_MB=256 DISK_GB=6 too few",
            "quota": "a-project: VCPU=2 MEMORY_MB=256 DISK_GB=6 too few",
        },
    }
    assert evidence.words == {
        "instance": "web, vm state active, host h1, cell cell1",
        "holds": "nothing",
        "should hold": "VCPU=2 MEMORY_MB=256 DISK_GB=6 on h1",
    }


def test_since_when_it_is_so_is_told_as_an_age():
    [old] = [row for row in reported(BROKEN) if row["Subject"] == uuid_of("old")]
    assert old["Age"] == "1 hour"


def test_a_silent_source_is_a_row_of_its_own():
    [row] = reported("cell1\n  host h1 VCPU=8\ncell2 silent\n")
    assert (row["Verdict"], row["Kind"], row["Subject"]) == ("could not check", "source", "cell2")
    assert row["Evidence"] == {"reason": "did not answer: it is down"}


def test_an_audit_of_a_cloud_in_order_is_empty():
    assert reported("cell1\n  host h1 VCPU=8\n", ALL) == []


def test_a_muted_finding_is_told_as_muted_with_its_reason_and_its_end():
    one = f"orphaned-allocation:{uuid_of('old')}"
    muted = said("finding", one)
    [row] = [row for row in reported(BROKEN, WHOLE, muted) if row["Verdict"] == "muted"]
    assert (row["Defect"], row["Severity"]) == ("orphaned-allocation", "medium")
    assert row["Evidence"] == {
        "because": "ticket 4711",
        "until": muted.until.isoformat(),
        "by": "ann",
    }


def test_a_muted_finding_is_told_whatever_is_filtered():
    muted = said("finding", f"orphaned-allocation:{uuid_of('old')}")
    view = AuditView(defects=frozenset({"missing-allocation"}))
    assert {row["Verdict"] for row in reported(BROKEN, view, muted)} == {"finding", "muted"}


def test_every_acknowledgement_is_a_row_of_every_audit():
    gone = "cell1\n  host h1 without-provider\n  server web on h1\n"
    yesterday = TODAY - timedelta(days=1)
    expired = Acknowledgement("lagging-replica", "x", "a replica", yesterday)
    stale = said("finding", "wrong-provider:nobody")
    nobody = said("foreign-owner", "nobody")
    no_cell, a_cell = said("lagging-replica", "cell9"), said("lagging-replica", "cell1")
    host = said("host-gone", "h1")
    rows = reported(gone, WHOLE, host, expired, stale, nobody, no_cell, a_cell)
    found = [
        (row["Kind"], row["Subject"], row["Evidence"])
        for row in rows
        if row["Verdict"] == "acknowledged"
    ]
    assert [one[:2] for one in found] == [
        ("host-gone", "h1"),
        ("lagging-replica", "x"),
        ("finding", "wrong-provider:nobody"),
        ("foreign-owner", "nobody"),
        ("lagging-replica", "cell9"),
        ("lagging-replica", "cell1"),
    ]
    assert found[0][2]["because"] == "ticket 4711"
    assert "1 instance on it could not be checked" in found[0][2]["answers"]
    assert "expired" in found[1][2]["reason"]
    assert "no such finding" in found[2][2]["reason"]
    assert "nothing in this audit" in found[3][2]["reason"]
    assert "no cell has this name" in found[4][2]["reason"]
    assert "reason" not in found[5][2]


@pytest.mark.parametrize(
    ("order", "first"), [("severity", "Verdict"), ("host", "Where"), ("defect", "Defect")]
)
def test_what_the_findings_are_ordered_by_is_the_first_column(order, first):
    assert audit_columns(order)[0] == first
    assert sorted(audit_columns(order)) == sorted(audit_columns("severity"))
    rows = reported(BROKEN, AuditView(order=order))
    assert {tuple(row) for row in rows} == {audit_columns(order)}


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(days=12, hours=23), "12 days"),
        (timedelta(hours=24), "1 day"),
        (timedelta(hours=3, minutes=59), "3 hours"),
        (timedelta(seconds=60), "1 minute"),
        (timedelta(seconds=59), "59 seconds"),
        (timedelta(seconds=-5), "0 seconds"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(age, words):
    assert age_in_words(age) == words
