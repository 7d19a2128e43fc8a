# SPDX-License-Identifier: Apache-2.0
"""Adds up comparisons: how many reads were the same, and how long each service took. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from trueup.shadow.comparing import Comparison, Outcome


@dataclass(frozen=True, slots=True)
class Timing:
    """The median times of a route, in milliseconds."""

    route: str
    reads: int
    upstream_ms: float
    trueup_ms: float

    @property
    def ratio(self) -> float:
        """How many times as long upstream's service takes."""
        return self.upstream_ms / self.trueup_ms if self.trueup_ms else 0.0


def counts(found: Iterable[Comparison]) -> Counter[Outcome]:
    """How many reads had each outcome."""
    return Counter(one.outcome for one in found)


def timings(found: Iterable[Comparison]) -> list[Timing]:
    """For each route, and for all."""
    by_route: dict[str, list[tuple[float, float]]] = {}
    for one in found:
        if one.seconds is not None:
            by_route.setdefault(one.read.route, []).append(one.seconds)
    every = [pair for pairs in by_route.values() for pair in pairs]
    routes = [_timing(route, pairs) for route, pairs in sorted(by_route.items())]
    return [*routes, _timing("all", every)] if every else []


def document(found: Sequence[Comparison]) -> Mapping[str, Any]:
    """Everything, for programs."""
    number = counts(found)
    return {
        "reads": len(found),
        "same": number[Outcome.SAME],
        "same_when_asked_again": number[Outcome.MOVED],
        "different": [
            {
                "path": one.read.path,
                "microversion": one.read.microversion,
                "differences": [
                    {"where": each.where, "upstream": each.upstream, "trueup": each.trueup}
                    for each in one.differences
                ],
            }
            for one in found
            if one.outcome is Outcome.DIFFERENT
        ],
        "not_compared": [
            {
                "path": one.read.path,
                "microversion": one.read.microversion,
                "reason": one.reason,
            }
            for one in found
            if one.outcome is Outcome.NOT_COMPARED
        ],
        "timings": [
            {
                "route": one.route,
                "reads": one.reads,
                "upstream_p50_ms": round(one.upstream_ms, 2),
                "trueup_p50_ms": round(one.trueup_ms, 2),
                "ratio": round(one.ratio, 2),
            }
            for one in timings(found)
        ],
    }


def _timing(route: str, pairs: Sequence[tuple[float, float]]) -> Timing:
    upstream, trueup = (median(times) * 1000 for times in zip(*pairs, strict=True))
    return Timing(route, len(pairs), upstream, trueup)
