# SPDX-License-Identifier: Apache-2.0
"""Only two observations, far enough apart, confirm a finding (invariant 7)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.observing import MINUTE, confirmed_as
from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import NOW, uuid_of
from trueup.reconcile.audit import (
    Confirmed,
    IntervalInvalid,
    Observation,
    ObservedTooSoon,
    observation,
    refuse_interval,
    settling_seconds,
)
from trueup.reconcile.verdicts import AuditOptions, Finding, Severity, Subject


def observed(text: str = BROKEN) -> Observation:
    return observation(facts_of(text), AuditOptions())


def test_invariant_7_only_what_both_found_with_the_same_evidence_is_confirmed():
    second = observed()
    [orphan, missing, wrong] = second.audit.findings
    other = replace(wrong, evidence={**wrong.evidence, "holds": ()})
    gone = Finding("missing-allocation", Subject("instance", "new"), "h1", Severity.HIGH, {})
    first = replace(second.audit, findings=(gone, other, missing), taken_at=NOW - MINUTE)
    assert Confirmed(first, second, MINUTE).findings == (missing,)
    assert confirmed_as(second).findings == (orphan, missing, wrong)


def test_what_is_confirmed_says_when_it_was_observed():
    confirmed = confirmed_as(observed())
    assert confirmed.first_at == NOW - MINUTE
    assert confirmed.second.facts.alive.keys() == {uuid_of("web"), uuid_of("db")}


@pytest.mark.parametrize("apart", [timedelta(), timedelta(seconds=59), -MINUTE])
def test_invariant_7_two_observations_too_close_confirm_nothing(apart):
    second = observed()
    first = replace(second.audit, taken_at=NOW - apart)
    with pytest.raises(ObservedTooSoon) as refused:
        Confirmed(first, second, MINUTE)
    assert (refused.value.apart, refused.value.interval) == (apart, MINUTE)


def test_without_a_finding_there_is_nothing_to_be_apart_for():
    second = observed("cell1\n  host h1 VCPU=8\n")
    assert Confirmed(second.audit, second, MINUTE).findings == ()


@pytest.mark.parametrize("interval", [timedelta(), -MINUTE])
def test_no_interval_is_refused(interval):
    with pytest.raises(IntervalInvalid):
        refuse_interval(interval)
    with pytest.raises(IntervalInvalid):
        Confirmed(observed().audit, observed(), interval)


def test_confirmed_findings_cannot_be_changed():
    confirmed = confirmed_as(observed())
    with pytest.raises(AttributeError):
        confirmed.findings = ()


def test_what_may_pass_by_itself_is_waited_for_as_long_as_it_may():
    leaked = """
cell1
  host h1 VCPU=8 MEMORY_MB=8192
  server web on h1 VCPU=2 MEMORY_MB=256
provider nic of h1 NET_BW=100
neutron
holds web h1 VCPU=2 MEMORY_MB=256
holds web nic NET_BW=5
"""
    assert settling_seconds(observed(leaked).audit) == 10
    assert settling_seconds(observed().audit) == 0
