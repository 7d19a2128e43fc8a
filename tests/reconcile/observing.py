# SPDX-License-Identifier: Apache-2.0
"""Facts that were there a minute ago as well: what makes a finding of them confirmed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from msgspec import structs

from trueup.reconcile.audit import Confirmed, Observation, observation
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.plan import Plan, make_plan
from trueup.reconcile.steps import Held, Step, growth, held_in
from trueup.reconcile.verdicts import AuditOptions, Finding


def held(step: Step) -> tuple[Allocations | None, Allocations | None]:
    """What the one consumer of a step holds before and after."""
    [sides] = held_by(step).values()
    return sides


def held_by(step: Step) -> dict[str, tuple[Allocations | None, Allocations | None]]:
    """What each consumer of a step holds before and after."""
    sides = ((held_in(change.before), held_in(change.after)) for change in step.changes)
    return {one: (before[one], after[one]) for before, after in sides for one in sorted(after)}


MINUTE = timedelta(minutes=1)


def confirmed_by(facts: Facts, chosen: Callable[[Finding], bool] = lambda _: True) -> Confirmed:
    """Two observations of the same facts; of the first one, only the chosen findings are kept."""
    return confirmed_as(observation(facts, AuditOptions()), chosen)


def confirmed_as(
    second: Observation, chosen: Callable[[Finding], bool] = lambda _: True
) -> Confirmed:
    """The same observation, made a minute before and now."""
    kept = tuple(filter(chosen, second.audit.findings))
    first = replace(second.audit, taken_at=second.audit.taken_at - MINUTE, findings=kept)
    return Confirmed(first, second, MINUTE)


def plan_of(facts: Facts, chosen: Callable[[Finding], bool] = lambda _: True) -> Plan:
    """A plan for the chosen findings of these facts, which hold what it needs."""
    return make_plan(confirmed_by(facts, chosen), facts.holdings)


def holding_more(step: Step, **more: int) -> Step:
    """The same step, but more is to be held of the one provider that it gives something of."""
    [change], [consumer] = step.changes, step.consumers
    after = held(step)[1]
    [(provider, amounts)] = after.amounts.items()
    greedy = Held({consumer: replace(after, amounts={provider: {**amounts, **more}})})
    return structs.replace(step, changes=(structs.replace(change, after=greedy),))


def gains(before: Allocations | None, after: Allocations | None) -> tuple[str, ...]:
    """The providers that hold more of some class afterwards, in order."""
    more = (uuid for (uuid, _), amount in growth(before, after).items() if amount > 0)
    return tuple(dict.fromkeys(more))
