# SPDX-License-Identifier: Apache-2.0
"""explain: a request for candidates and a view in, how many hosts each filter leaves out.

The filters are added one by one, and the search itself is asked each time. So the last number is
above 0 if and only if the search finds candidates for the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueup.model.errors import ResourceClassNotFound, TraitNotFound
from trueup.model.requests import CandidateRequest
from trueup.placement.index.filters import Filter, filters_of, filters_without, request_of
from trueup.placement.index.search.candidates import roots_with_candidates
from trueup.placement.index.view.columns import NO_PROVIDERS, View
from trueup.placement.index.view.forest import NO_PARENT, Positions
from trueup.placement.why.lacking import NearMiss, nearest

NEAREST_MAX = 3


@dataclass(frozen=True, slots=True)
class Step:
    """A filter, how many hosts were left after it, and what those lack that it left out."""

    filter: Filter
    left: int
    lost: int
    nearest: tuple[NearMiss, ...]
    without: tuple[str, ...] | None
    """The hosts that all other filters leave. None where that is not asked for.

    Of the only resource class of a group, one unit is still asked for.
    """

    @property
    def left_without(self) -> int | None:
        """The number of hosts left without this filter."""
        return None if self.without is None else len(self.without)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hosts are the roots of provider trees; a pool that shares with others is one too."""

    hosts: int
    steps: tuple[Step, ...]
    with_candidates: tuple[str, ...]

    @property
    def left(self) -> int:
        """How many hosts have candidates."""
        return len(self.with_candidates)


def explain(request: CandidateRequest, view: View, *, always_without: bool = False) -> Explanation:
    """How many hosts are left after each filter; and without each, if none is left after all.

    With `always_without`, in any case. Raises ResourceClassNotFound or TraitNotFound where the
    search does.
    """
    roots_with_candidates(request, view)
    filters = filters_of(request)
    all_hosts = np.flatnonzero(view.forest.parents == NO_PARENT)
    before, steps, kept = all_hosts, list[Step](), list[Filter]()
    for filter_ in filters:
        kept.append(filter_)
        after = _hosts(kept, request, view, all_hosts) if len(before) else NO_PROVIDERS
        lost = np.setdiff1d(before, after)
        near = nearest(filter_, lost, view, NEAREST_MAX)
        steps.append(Step(filter_, len(after), len(lost), near, None))
        before = after
    if not len(before) or always_without:
        others = (
            _hosts(filters_without(filter_, filters), request, view, all_hosts)
            for filter_ in filters
        )
        without = [_uuids(positions, view) for positions in others]
        pairs = zip(steps, without, strict=True)
        steps = [replace(step, without=uuids) for step, uuids in pairs]
    return Explanation(len(all_hosts), tuple(steps), _uuids(before, view))


def _uuids(positions: Positions, view: View) -> tuple[str, ...]:
    return tuple(view.forest.uuids[position] for position in positions.tolist())


def _hosts(
    filters: Sequence[Filter], request: CandidateRequest, view: View, all_hosts: Positions
) -> Positions:
    part = request_of(filters, request)
    if part is None:
        return all_hosts
    try:
        return roots_with_candidates(part, view)
    except (ResourceClassNotFound, TraitNotFound):
        # The search does not look at the names of groups after one that nobody satisfies.
        return NO_PROVIDERS
