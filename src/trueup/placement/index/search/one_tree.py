# SPDX-License-Identifier: Apache-2.0
"""Choosing within one tree: one provider for each slot, such that all rules hold together.

Choices are made one by one and only when they are asked for. Slots are filled in their order, and
a provider that breaks a rule is passed over. Where that leads into dead ends, each step is first
looked at from further away (`foresee`).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trueup.placement.index.search.feasibility import could_go_on
from trueup.placement.index.search.partial import Choice, Hand, Table

_DEAD_ENDS_BEFORE_LOOKING = 8
_TRIES_MIN = 200


@dataclass(slots=True)
class Patience:
    """How many more tries in vain a request is worth, in all trees together.

    Whether things of many sizes fit into many boxes can take forever to say. So a tree is given up
    after a part of what is left, and the next is still worth trying, if less.
    """

    left: int = 320_000

    def with_a_tree(self, slots: int) -> int:
        """How many tries in a row may lead nowhere in a tree, with so many slots to fill."""
        return max(self.left // 16, _TRIES_MIN + slots**2)


def choices(table: Table, offers: Sequence[Sequence[int]], patience: Patience) -> Iterator[Choice]:
    """All choices from the offers of one tree, each once.

    Fewer if one is so hard to find that patience is lost.
    """
    bound = table.bound
    if not bound:
        yield from itertools.product(*offers)
        return
    for chosen in _bound_choices(Hand(table, offers[:bound]), patience):
        if bound == len(offers):
            yield chosen
        else:
            yield from ((*chosen, *free) for free in itertools.product(*offers[bound:]))


def _bound_choices(hand: Hand, patience: Patience) -> Iterator[Choice]:
    """All choices for slots that depend on each other."""
    untried, found_before = [iter(hand.offers[0])], [0]
    found = tries = dead_ends = 0
    looks = is_hopeless = False
    most = patience.with_a_tree(len(hand.offers))
    while untried and not is_hopeless and tries <= most:
        position = next(untried[-1], None)
        if position is None:
            untried.pop()
            dead_ends += found == found_before.pop()
            if untried:
                hand.give_back()
            if dead_ends >= _DEAD_ENDS_BEFORE_LOOKING and not looks:
                looks, is_hopeless = True, not could_go_on(Hand(hand.table, hand.offers))
            continue
        tries += 1
        if not hand.take(position):
            continue
        if len(hand.chosen) == len(hand.offers):
            found, tries = found + 1, 0
            yield tuple(hand.chosen)
            hand.give_back()
        elif looks and not could_go_on(hand):
            tries += len(hand.offers)
            hand.give_back()
        else:
            untried.append(iter(hand.offers[len(hand.chosen)]))
            found_before.append(found)
    patience.left = max(0, patience.left - tries)
