# SPDX-License-Identifier: Apache-2.0
"""A request and the first tree that could satisfy it, as the search sees them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.placement.index.clouds import Host, view_of
from trueup.model.requests import CandidateRequest, RequestGroup
from trueup.placement.index.search.constraints import rules_of
from trueup.placement.index.search.match import match_request
from trueup.placement.index.search.partial import Hand, lay_table
from trueup.placement.index.search.prune import narrow
from trueup.placement.index.view.columns import View


@dataclass(frozen=True, slots=True)
class Tree:
    """A hand that is still empty, and what it is about."""

    view: View
    hand: Hand

    @property
    def suffixes(self) -> list[str]:
        """Of the slots, in the order in which they are filled."""
        return [slot.suffix for slot in self.hand.table.trees.slots]

    def take(self, name: str) -> bool:
        return self.hand.take(self.view.forest.by_uuid[name])


def tree_of(hosts: Iterable[Host], *groups: RequestGroup, **wide: object) -> Tree:
    """The first tree of the cloud, for this request."""
    view, request = view_of(hosts), CandidateRequest(groups, **wide)
    slots = match_request(request, view)
    trees = narrow(slots, rules_of(request, slots, view.forest.has_trees), view)
    table = lay_table(request, trees, view)
    offers = []
    for slot in table.trees.slots:
        first, last = trees.firsts[slot.offers][:2].tolist()
        offers.append(slot.offers.positions[first:last].tolist())
    return Tree(view, Hand(table, offers))
