# SPDX-License-Identifier: Apache-2.0
"""Runs: what a command calls. Observe, confirm, plan; apply and undo with their journals."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from trueup.reconcile.audit import Audit
from trueup.reconcile.clock import now
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.coverage import Progress
from trueup.reconcile.collect.selection import EVERYTHING, Selection
from trueup.reconcile.facts import Facts
from trueup.reconcile.observation import (
    Confirmed,
    Observation,
    observation,
    refuse_interval,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.plan import Plan, consumers_of, make_plan
from trueup.reconcile.sources.cloud import Cloud

# Lets so many seconds pass, and may show that.
Wait = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Observer:
    """A cloud, and how it is observed: each time in the same way."""

    cloud: Cloud
    options: AuditOptions
    progress: Progress
    selection: Selection = EVERYTHING

    def observe(self) -> Observation:
        """The cloud as it is now. Raises as `collect`."""
        return observation(collect(self.cloud, self.progress, self.selection), self.options)


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and the second of the observations that it was made from."""

    plan: Plan
    second: Observation


def plan(observer: Observer, first: Audit, interval: timedelta, wait: Wait) -> Planned:
    """Observe once more when the interval has passed, and plan what both observations found.

    Raises IntervalInvalid, and as `collect`.
    """
    refuse_interval(interval)
    # Without a finding there is nothing to confirm, and nothing to wait for.
    while first.findings and (left := first.taken_at + interval - now()) > timedelta():
        wait(left.total_seconds())
    confirmed = Confirmed(first, observer.observe(), interval)
    holdings = observer.cloud.placement.holdings(consumers_of(confirmed.findings))
    return Planned(make_plan(confirmed, holdings), confirmed.second)


def plan_of_facts(
    facts: Facts, first: Audit, interval: timedelta, options: AuditOptions
) -> Planned:
    """Plan what an audit and later facts, that were both kept, have in common.

    Raises IntervalInvalid, ObservedTooSoon.
    """
    confirmed = Confirmed(first, observation(facts, options), interval)
    return Planned(make_plan(confirmed, facts.holdings), confirmed.second)
