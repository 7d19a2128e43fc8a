# SPDX-License-Identifier: Apache-2.0
"""Which findings are shown, and in which order."""

from collections.abc import Iterable
from itertools import groupby

from tests.reconcile.planning import BROKEN
from tests.reconcile.report.showing import shown_of
from trueup.reconcile.report.audit_view import AuditView
from trueup.reconcile.verdicts import Finding, Severity

SEVERITIES = list(Severity)


def ids(findings: Iterable[Finding]) -> list[str]:
    return sorted(row.id for row in findings)


def test_without_a_filter_every_finding_is_shown_worst_first():
    what, _ = shown_of(BROKEN)
    assert ids(what.findings) == ids(what.audit.findings)
    assert what.hidden == 0
    ranks = [SEVERITIES.index(row.severity) for row in what.findings]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1


def test_what_a_filter_hides_is_counted_and_no_verdict_changes():
    every, _ = shown_of(BROKEN)
    some, _ = shown_of(BROKEN, AuditView(defects=frozenset({"wrong-provider"})))
    assert {row.defect for row in some.findings} == {"wrong-provider"}
    assert some.hidden == len(every.findings) - len(some.findings) > 0
    assert some.audit == every.audit


def test_a_severity_shows_what_is_as_bad_or_worse():
    for least in Severity:
        what, _ = shown_of(BROKEN, AuditView(severity=least))
        worse = SEVERITIES[: SEVERITIES.index(least) + 1]
        assert ids(what.findings) == ids(r for r in what.audit.findings if r.severity in worse)


def test_by_host_and_by_defect_the_worst_group_is_first_and_no_group_is_torn():
    for order, group in (("host", "where"), ("defect", "defect")):
        what, _ = shown_of(BROKEN, AuditView(order=order))
        groups = [name for name, _ in groupby(getattr(row, group) for row in what.findings)]
        assert len(groups) == len(set(groups)) > 1
        worst = min(SEVERITIES.index(row.severity) for row in what.findings)
        assert SEVERITIES.index(what.findings[0].severity) == worst
        assert ids(what.findings) == ids(what.audit.findings)
