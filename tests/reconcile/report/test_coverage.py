# SPDX-License-Identifier: Apache-2.0
"""Each source, whether it answered, and what of its answer is not in the facts."""

from dataclasses import replace
from datetime import datetime

from tests.reconcile.planning import facts_of
from trueup.reconcile.facts import Coverage, SourceStatus, Unread, Unsupported
from trueup.reconcile.report.coverage import coverage_table


def test_a_source_answered_partly_or_not():
    noon = datetime(2026, 11, 21, 12, 0, 0)
    row = Unread("instances", "7", "uuid", "it is none")
    lost = Unread("migrations", "8", "", "it is nothing")
    whole = SourceStatus("Placement", True, 3, read_via="API", answered_at=noon)
    part = SourceStatus("cell1", True, 2, unread=(row, lost), unread_rows=5, lost_rows=1)
    old = SourceStatus("cell2", True, 2, unsupported=(Unsupported("a.b", "too old"),))
    silent = SourceStatus("cell3", False, reason="it is down")
    facts = replace(facts_of("cell1\n"), coverage=Coverage((whole, part, old, silent)))
    columns, rows = coverage_table(facts)
    assert columns == ("Source", "Answered", "At", "Read via", "Rows", "Not in the facts")
    assert [row[1] for row in rows] == ["yes", "partly", "partly", "no"]
    assert rows[0] == ("Placement", "yes", "2026-11-21 12:00:00", "API", 3, {})
    assert rows[1][5] == {
        "instances 7 uuid": "it is none",
        "migrations 8": "it is nothing",
        "more": "3 values that are not named here",
    }
    assert rows[2][5] == {"a.b": "too old"}
    assert rows[3][5] == {"everything": "it is down"}
