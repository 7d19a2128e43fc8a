# SPDX-License-Identifier: Apache-2.0
"""What commands call: observing a cloud twice, and planning what both observations found."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.reconcile.small import Small
from trueup.reconcile.clock import now
from trueup.reconcile.observation import IntervalInvalid, ObservedTooSoon
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.runs import Observer, plan, plan_of_facts

INTERVAL = timedelta(hours=1)


def observer(small: Small) -> Observer:
    return Observer(small.cloud, AuditOptions(), lambda *_: None)


def test_it_waits_until_the_first_observation_is_an_interval_old(small):
    looking = observer(small)
    first = looking.observe().audit
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        plan(looking, first, INTERVAL, wait)
    assert 3500 < waits[0] <= 3600


def test_an_old_first_observation_is_not_waited_for(small):
    looking = observer(small)
    first = replace(looking.observe().audit, taken_at=now() - INTERVAL)
    planned = plan(looking, first, INTERVAL, lambda _: pytest.fail("nothing to wait for"))
    assert len(planned.plan.steps) == len(first.findings) == 4
    assert planned.plan.first_at == first.taken_at
    assert planned.plan.made_at == planned.second.audit.taken_at


def test_no_interval_is_refused_before_anything_is_read(small):
    looking = observer(small)
    first = looking.observe().audit
    small.cloud.close()
    with pytest.raises(IntervalInvalid):
        plan(replace(looking, cloud=None), first, timedelta(), lambda _: None)


def test_kept_facts_confirm_only_what_was_observed_an_interval_before(small):
    second = observer(small).observe()
    holdings = small.cloud.placement.holdings([row.subject.uuid for row in second.audit.findings])
    facts = replace(second.facts, holdings=holdings)
    with pytest.raises(ObservedTooSoon):
        plan_of_facts(facts, second.audit, INTERVAL, AuditOptions())
    first = replace(second.audit, taken_at=second.audit.taken_at - INTERVAL)
    assert len(plan_of_facts(facts, first, INTERVAL, AuditOptions()).plan.steps) == 4
