# SPDX-License-Identifier: Apache-2.0
"""Growth: how much more, or less, consumers hold after a step."""

from collections.abc import Iterable

from trueup.reconcile.facts import Allocations, Amounts
from trueup.reconcile.steps.steps import Change, Step, consumers_in
from trueup.reconcile.steps.targets import held_in


def growth(before: Allocations | None, after: Allocations | None) -> dict[tuple[str, str], int]:
    """By how much the holding grows (negative: shrinks), by provider and resource class."""
    old, new = _flat(before.amounts if before else {}), _flat(after.amounts if after else {})
    changes = {key: new.get(key, 0) - old.get(key, 0) for key in old.keys() | new.keys()}
    return {key: amount for key, amount in sorted(changes.items()) if amount}


def step_growth(step: Step) -> dict[tuple[str, str], int]:
    """By how much the holdings of all its consumers grow, by provider and resource class."""
    total: dict[tuple[str, str], int] = {}
    for before, after in _sides(step.changes):
        for key, amount in growth(before, after).items():
            total[key] = total.get(key, 0) + amount
    return {key: amount for key, amount in sorted(total.items()) if amount}


def releases(step: Step) -> bool:
    """Whether a consumer holds less of anything after a step, as where a claim is moved."""
    sides = (growth(before, after) for before, after in _sides(step.changes))
    return any(amount < 0 for side in sides for amount in side.values())


def _sides(changes: Iterable[Change]) -> list[tuple[Allocations | None, Allocations | None]]:
    return [
        (held_in(change.before).get(consumer), held_in(change.after).get(consumer))
        for change in changes
        for consumer in consumers_in(change)
    ]


def _flat(amounts: Amounts) -> dict[tuple[str, str], int]:
    return {(uuid, name): held for uuid, row in amounts.items() for name, held in row.items()}
