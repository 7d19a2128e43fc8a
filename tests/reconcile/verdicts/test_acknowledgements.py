# SPDX-License-Identifier: Apache-2.0
"""What an operator knows better answers what could not be checked, is always shown, and expires."""

from datetime import date, timedelta

import pytest

from tests.reconcile.observing import confirmed_as, held
from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.audit import Audit, answered, audit, observation
from trueup.reconcile.plan import make_plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions, Muted, names_of

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


def test_the_provider_of_a_port_is_chosen_until_the_last_day():
    cloud = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider nic1 of h1 NET_BW=100
provider nic2 of h1 NET_BW=100
port p1 of web NET_BW=5
holds web h1 VCPU=2 MEMORY_MB=256
"""

    def planned(until: date):
        choice = Acknowledgement(
            "port-provider", uuid_of("p1"), "seen on the host", until, provider="nic2"
        )
        facts = facts_of(cloud)
        seen = observation(facts, AuditOptions(acknowledgements=(choice,)))
        assert [row.acknowledgement for row in seen.audit.acknowledged] == [choice]
        return make_plan(confirmed_as(seen), facts.holdings)

    [step] = planned(TODAY).steps
    assert uuid_of("nic2") in held(step)[1].amounts
    expired = planned(TODAY - timedelta(days=1))
    assert expired.steps == ()
    assert "choose one" in in_words(expired.declined[0].reason)


@pytest.mark.parametrize(("kind", "name"), [("host-gone", "h2"), ("foreign-owner", "h1")])
def test_one_about_something_else_answers_nothing_and_is_shown(kind, name):
    answered = audited(GONE, said(kind, name))
    assert answered.unchecked == audited(GONE).unchecked
    assert [row.answered for row in answered.acknowledged] == [()]


def test_no_finding_is_hidden_by_what_is_said_of_hosts_and_owners():
    everything = [said("foreign-owner", uuid_of(name)) for name in ("old", "web", "db")]
    everything += [said("host-gone", name) for name in ("h1", "h2")]
    assert audited(BROKEN, *everything).findings == audited(BROKEN).findings


def test_a_finding_that_is_known_is_muted_and_no_other():
    [one, *others] = audited(BROKEN).findings
    muted = said("finding", one.id)
    result = audited(BROKEN, muted)
    assert result.muted == (Muted(one, muted),)
    assert result.findings == tuple(others)
    assert result.acknowledged == ()
    assert result.every_finding == (*others, one)


def test_a_finding_is_muted_until_its_last_day():
    [one, *_] = audited(BROKEN).findings
    yesterday = said("finding", one.id, TODAY - timedelta(days=1))
    result = audited(BROKEN, yesterday)
    assert result.findings == audited(BROKEN).findings
    assert [(row.acknowledgement, row.expired) for row in result.acknowledged] == [
        (yesterday, True)
    ]


def test_what_mutes_no_finding_is_shown():
    stale = said("finding", "wrong-provider:nobody")
    result = audited(BROKEN, stale)
    assert [(row.acknowledgement, row.answered) for row in result.acknowledged] == [(stale, ())]
    assert result.findings == audited(BROKEN).findings


def test_nothing_is_planned_for_a_muted_finding():
    facts = facts_of(BROKEN)
    [one, *others] = audited(BROKEN).findings
    options = AuditOptions(acknowledgements=(said("finding", one.id),))
    plan = make_plan(confirmed_as(observation(facts, options)), facts.holdings)
    assert {row.id for row in plan.findings} == {row.id for row in others}


def test_an_audit_is_answered_by_one_more_acknowledgement():
    [one, *_] = audited(BROKEN).findings
    gone, muted = said("host-gone", "h9"), said("finding", one.id)
    assert answered(audited(BROKEN, gone), [muted]) == audited(BROKEN, gone, muted)


def test_names_are_those_of_one_kind_that_hold():
    every = [said("lagging-replica", "a"), said("host-gone", "b")]
    every.append(said("lagging-replica", "c", TODAY - timedelta(days=1)))
    assert names_of(every, "lagging-replica", TODAY) == {"a"}
