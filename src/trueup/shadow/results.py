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
    return Counter(comparison.outcome for comparison in found)


def timings(found: Iterable[Comparison]) -> list[Timing]:
    """The timing of each route, and of all reads."""
    by_route: dict[str, list[tuple[float, float]]] = {}
    for comparison in found:
        if comparison.seconds is not None:
            by_route.setdefault(comparison.read.route, []).append(comparison.seconds)
    every = [pair for pairs in by_route.values() for pair in pairs]
    routes = [_timing(route, pairs) for route, pairs in sorted(by_route.items())]
    return [*routes, _timing("all", every)] if every else []


def document(found: Sequence[Comparison]) -> Mapping[str, Any]:
    """All results as a JSON document."""
    number = counts(found)
    return {
        "reads": len(found),
        "same": number[Outcome.SAME],
        "same_when_asked_again": number[Outcome.MOVED],
        "different": [
            {
                "path": comparison.read.path,
                "microversion": comparison.read.microversion,
                "differences": [
                    {"where": place.where, "upstream": place.upstream, "trueup": place.trueup}
                    for place in comparison.differences
                ],
            }
            for comparison in found
            if comparison.outcome is Outcome.DIFFERENT
        ],
        "not_compared": [
            {
                "path": comparison.read.path,
                "microversion": comparison.read.microversion,
                "reason": comparison.reason,
            }
            for comparison in found
            if comparison.outcome is Outcome.NOT_COMPARED
        ],
        "timings": [
            {
                "route": timing.route,
                "reads": timing.reads,
                "upstream_p50_ms": round(timing.upstream_ms, 2),
                "trueup_p50_ms": round(timing.trueup_ms, 2),
                "ratio": round(timing.ratio, 2),
            }
            for timing in timings(found)
        ],
    }


def _timing(route: str, pairs: Sequence[tuple[float, float]]) -> Timing:
    upstream, trueup = (median(times) * 1000 for times in zip(*pairs, strict=True))
    return Timing(route, len(pairs), upstream, trueup)
