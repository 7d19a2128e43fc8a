# SPDX-License-Identifier: Apache-2.0
"""The history of findings as a plot: rounds → shapes with coordinates, for a template. Pure.

Each severity is an area that stands on those that are worse; it is flat from round to round. Rounds
that failed, or whose evidence was incomplete, are marked below.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from trueup.reconcile.verdicts import Severity

WIDTH, HEIGHT = 960, 180
# The plot's own rectangle within that.
LEFT, RIGHT, TOP, BOTTOM = 48, 952, 8, 140
# The newest rounds are also a table, for readers who cannot see the plot.
LISTED = 10


@dataclass(frozen=True, slots=True)
class Mark:
    """One round: its findings by severity; `reason` says why it failed."""

    at: datetime
    counts: Mapping[str, int]
    unchecked: int
    state: Literal["complete", "incomplete", "failed"]
    reason: str = ""

    @property
    def findings(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Area:
    """The outline of one severity, as the `d` of an SVG path."""

    severity: Severity
    outline: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Areas, the positions of odd rounds, the most findings there were, and the newest rounds."""

    areas: tuple[Area, ...]
    incomplete: tuple[float, ...]
    failed: tuple[float, ...]
    most: int
    first_at: datetime
    last_at: datetime
    newest: tuple[Mark, ...]

    @property
    def failure(self) -> str:
        """Why the newest round failed; empty if it succeeded."""
        last = self.newest[0]
        return last.reason if last.state == "failed" else ""


def history_plot(marks: Sequence[Mark]) -> Plot | None:
    """The plot of rounds in order; None if there was none."""
    if not marks:
        return None
    first, last = marks[0].at, marks[-1].at
    span = (last - first).total_seconds()

    def across(mark: Mark) -> float:
        share = (mark.at - first).total_seconds() / span if span else 1.0
        return round(LEFT + share * (RIGHT - LEFT), 1)

    audited = [(across(mark), mark) for mark in marks if mark.state != "failed"]
    most = max((mark.findings for _, mark in audited), default=0)
    return Plot(
        areas=_areas(audited, most),
        incomplete=tuple(across(mark) for mark in marks if mark.state == "incomplete"),
        failed=tuple(across(mark) for mark in marks if mark.state == "failed"),
        most=most,
        first_at=first,
        last_at=last,
        newest=tuple(reversed(marks[-LISTED:])),
    )


def _areas(audited: Sequence[tuple[float, Mark]], most: int) -> tuple[Area, ...]:
    """One area for each severity in any round."""
    below = [0] * len(audited)
    areas = []
    for severity in Severity:
        own = [mark.counts.get(severity.value, 0) for _, mark in audited]
        above = [low + count for low, count in zip(below, own, strict=True)]
        if any(own):
            positions = [x for x, _ in audited]
            areas.append(Area(severity, _outline(positions, below, above, most)))
        below = above
    return tuple(areas)


def _outline(
    positions: Sequence[float], below: Sequence[int], above: Sequence[int], most: int
) -> str:
    """Up the steps of `above`, and back down those of `below`."""
    forth = _steps(positions, above, most)
    back = reversed(_steps(positions, below, most))
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in (*forth, *back)) + "Z"


def _steps(
    positions: Sequence[float], heights: Sequence[int], most: int
) -> list[tuple[float, float]]:
    """Corners of a line that is flat until the next round; the last one reaches to the edge."""
    corners: list[tuple[float, float]] = []
    ends = (*positions[1:], float(RIGHT))
    for begin, end, height in zip(positions, ends, heights, strict=True):
        y = round(BOTTOM - (BOTTOM - TOP) * height / most, 1) if most else float(BOTTOM)
        corners += [(begin, y), (end, y)]
    return corners
