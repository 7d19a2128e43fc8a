# SPDX-License-Identifier: Apache-2.0
"""What an operator knows better answers what could not be checked, is always shown, and expires."""

from datetime import date, timedelta

import pytest

from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.acknowledgements import Acknowledgement, names_of
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.report.tables import audit_table

TODAY = NOW.date()
GONE = "cell1\n  host h1 without-provider\n  server web on h1\n"
FOREIGN = "cell1\n  host h1 VCPU=8\nholds zun h1 VCPU=1\n"


def said(kind, name: str, until: date = TODAY) -> Acknowledgement:
    return Acknowledgement(kind, name, "ticket 4711", until, by="ann")


def audited(text: str, *acknowledgements: Acknowledgement) -> Audit:
    return audit(facts_of(text), AuditOptions(acknowledgements=acknowledgements))


def test_a_host_that_is_gone_for_good_no_longer_makes_the_evidence_incomplete():
    [unchecked] = [row for row in audited(GONE).unchecked if row.subject.kind == "host"]
    answered = audited(GONE, said("host-gone", "h1"))
    assert "host" not in {row.subject.kind for row in answered.unchecked}
    [row] = answered.acknowledged
    assert (row.expired, row.answered) == (False, (unchecked.reason,))


def test_the_owner_of_a_foreign_consumer_is_known():
    uuid = uuid_of("zun")
    assert [row.subject.uuid for row in audited(FOREIGN).left_alone] == [uuid]
    answered = audited(FOREIGN, said("foreign-owner", uuid))
    assert answered.left_alone == ()
    assert len(answered.acknowledged[0].answered) == 1


def test_one_that_has_expired_is_shown_and_answers_nothing():
    yesterday = TODAY - timedelta(days=1)
    answered = audited(GONE, said("host-gone", "h1", yesterday))
    assert answered.unchecked == audited(GONE).unchecked
    assert [(row.expired, row.answered) for row in answered.acknowledged] == [(True, ())]


@pytest.mark.parametrize(("kind", "name"), [("host-gone", "h2"), ("foreign-owner", "h1")])
def test_one_about_something_else_answers_nothing_and_is_shown(kind, name):
    answered = audited(GONE, said(kind, name))
    assert answered.unchecked == audited(GONE).unchecked
    assert [row.answered for row in answered.acknowledged] == [()]


def test_no_finding_is_hidden():
    everything = [said("foreign-owner", uuid_of(name)) for name in ("old", "web", "db")]
    everything += [said("host-gone", name) for name in ("h1", "h2")]
    assert audited(BROKEN, *everything).findings == audited(BROKEN).findings


def test_every_acknowledgement_is_a_row_of_every_audit():
    acknowledgements = (said("host-gone", "h1"), said("lagging-replica", "x", date(2020, 1, 1)))
    _, rows = audit_table(audited(GONE, *acknowledgements), everything=False)
    told = [(row[3], row[4], row[-1]) for row in rows if row[0] == "acknowledged"]
    assert [one[:2] for one in told] == [("host-gone", "h1"), ("lagging-replica", "x")]
    assert told[0][2]["because"] == "ticket 4711"
    assert "instances on it were not checked" in told[0][2]["answers"]
    assert "expired" in told[1][2]["reason"]


def test_names_are_those_of_one_kind_that_hold():
    every = [said("lagging-replica", "a"), said("host-gone", "b")]
    every.append(said("lagging-replica", "c", TODAY - timedelta(days=1)))
    assert names_of(every, "lagging-replica", TODAY) == {"a"}
