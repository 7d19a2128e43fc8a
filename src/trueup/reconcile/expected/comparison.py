# SPDX-License-Identifier: Apache-2.0
"""Compares the allocations of a consumer with its expected allocation."""

from dataclasses import dataclass

from trueup.reconcile.expected.parts import (
    Ambiguous,
    ExpectedAllocation,
    Known,
    NotOurs,
    Share,
    Unknown,
    held_of,
)
from trueup.reconcile.facts import Amounts

_Flat = dict[tuple[str, str], int]


def agrees(held: Amounts, wanted: ExpectedAllocation) -> bool:
    """Whether these allocations may be right: all known parts are held, and the rest is explained.

    A part with an ambiguous provider may be held on any of its providers. If a part of a share is
    unknown, or belongs to another service, more of this share may be held.
    """
    if not wanted.open:
        return held == wanted.known
    # PERF: nearly always nothing is left, so no share needs its own comparison.
    left = _left(held, wanted)
    if not left:
        return left is not None
    return all(share_agrees(share, held, wanted) for share in Share)


def share_agrees(share: Share, held: Amounts, wanted: ExpectedAllocation) -> bool:
    """As `agrees`, for one share."""
    mine = wanted.of(share)
    left = _left(held_of(share, held), mine)
    if left is None:
        return False
    return not left or any(isinstance(part, NotOurs | Unknown) for part in mine.open)


def covers(held: Amounts, wanted: ExpectedAllocation) -> bool:
    """Whether at least the expected amounts are held. SAFETY: an unknown part is not covered."""
    if any(isinstance(part, Unknown) for part in wanted.open):
        return False
    return _left(held, wanted) is not None


@dataclass(frozen=True, slots=True)
class Difference:
    """How one share of a consumer's allocations differs from the expected allocation.

    `lacking` are the parts that are not held in full, except unknown ones and those of other
    services. `excess` are the amounts beyond the parts; empty if more may rightly be held.
    """

    lacking: tuple[Known | Ambiguous, ...]
    excess: Amounts


def difference(share: Share, held: Amounts, wanted: ExpectedAllocation) -> Difference:
    """The missing parts and the excess of one share."""
    mine = wanted.of(share)
    left = _flat(held_of(share, held))
    parts = [part for part in mine.parts if isinstance(part, Known | Ambiguous)]
    # Parts that only one provider can give are taken first.
    in_turn = sorted(parts, key=lambda part: isinstance(part, Ambiguous))
    lacking = tuple(part for part in in_turn if not _taken_whole(left, part))
    if any(isinstance(part, NotOurs | Unknown) for part in mine.open):
        left = {}
    excess: dict[str, dict[str, int]] = {}
    for (uuid, name), amount in left.items():
        if amount:
            excess.setdefault(uuid, {})[name] = amount
    return Difference(lacking, excess)


def _taken_whole(left: _Flat, part: Known | Ambiguous) -> bool:
    """Take a whole part from the amounts left; if there is not enough, take nothing."""
    providers = (part.provider,) if isinstance(part, Known) else part.providers
    trial = dict(left)
    if not _taken(trial, Ambiguous(part.source, part.amounts, providers)):
        return False
    left.update(trial)
    return True


def _flat(amounts: Amounts) -> _Flat:
    return {(uuid, name): amount for uuid, row in amounts.items() for name, amount in row.items()}


def _left(held: Amounts, wanted: ExpectedAllocation) -> _Flat | None:
    """The amounts beyond the expected ones; None if any expected amount is missing."""
    left = _flat(held)
    for uuid, row in wanted.known.items():
        for name, amount in row.items():
            left[uuid, name] = left.get((uuid, name), 0) - amount
    if any(amount < 0 for amount in left.values()):
        return None
    for part in wanted.open:
        if isinstance(part, Ambiguous) and not _taken(left, part):
            return None
    return {key: amount for key, amount in left.items() if amount}


def _taken(left: _Flat, part: Ambiguous) -> bool:
    """Take the amounts of a part from those left on any of its providers."""
    for name, amount in part.amounts.items():
        wanted = amount
        for uuid in part.providers:
            taken = min(wanted, left.get((uuid, name), 0))
            if taken:
                left[uuid, name] -= taken
                wanted -= taken
        if wanted:
            return False
    return True
