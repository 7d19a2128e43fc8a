# SPDX-License-Identifier: Apache-2.0
"""How many servers fitted in the last month, and a straight line of where that will be. Pure.

The line is the one with the least squares of its distances from the counts. It knows of nothing
that comes, as new hosts or a new customer, and is shown for as long as the counts reach back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH, HEIGHT = 480, 90
# The plot's own rectangle within that; counts up to now, and the line in the part after it.
LEFT, RIGHT, TOP, BOTTOM = 4, 476, 6, 70
SHOWN_MAX = 12
MONTH = timedelta(days=30)
_SPAN_MIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PastCount:
    """How many servers of each flavor fitted at a time, in the whole cloud."""

    at: datetime
    fits: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Trend:
    """One flavor: its counts as the `d` of an SVG path, and those that the line foretells.

    `ahead` is empty where the counts reach back less than a day. `turn` is where now is.
    """

    flavor: str
    now: int
    most: int
    counts: str
    ahead: str
    turn: float
    words: str


def trends(past: Sequence[PastCount]) -> tuple[Trend, ...]:
    """The flavors of the last count that will fit least often; at most twelve."""
    if not past:
        return ()
    lines = [_Line.of(flavor, past) for flavor in past[-1].fits]
    # What never fitted in this time does not run out.
    lines.sort(key=lambda line: (not line.fitted, line.after(MONTH), line.now, line.flavor))
    return tuple(line.drawn() for line in lines[:SHOWN_MAX])


@dataclass(frozen=True, slots=True)
class _Line:
    """The counts of a flavor, by seconds before now, and the slope of their line."""

    flavor: str
    points: tuple[tuple[float, int], ...]
    slope: float

    @classmethod
    def of(cls, flavor: str, past: Sequence[PastCount]) -> "_Line":
        last = past[-1].at
        points = tuple(
            ((count.at - last).total_seconds(), count.fits[flavor])
            for count in past
            if flavor in count.fits and last - count.at <= MONTH
        )
        if -points[0][0] < _SPAN_MIN.total_seconds():
            return cls(flavor, points, 0.0)
        middle = sum(x for x, _ in points) / len(points)
        mean = sum(y for _, y in points) / len(points)
        wide = sum((x - middle) ** 2 for x, _ in points)
        return cls(flavor, points, sum((x - middle) * (y - mean) for x, y in points) / wide)

    @property
    def now(self) -> int:
        return self.points[-1][1]

    @property
    def fitted(self) -> bool:
        return any(y for _, y in self.points)

    @property
    def reach(self) -> timedelta:
        """How long the counts reach back, and the line ahead."""
        return timedelta(seconds=-self.points[0][0])

    def after(self, time: timedelta) -> float:
        """How many fit after a time, as the line goes on from now."""
        return max(self.now + self.slope * time.total_seconds(), 0)

    def drawn(self) -> Trend:
        most = max(*(y for _, y in self.points), round(self.after(self.reach)), 1)
        whole = 2 * MONTH.total_seconds()

        def at(x: float, y: float) -> str:
            across = LEFT + (x + MONTH.total_seconds()) / whole * (RIGHT - LEFT)
            return f"{across:.1f} {BOTTOM - y / most * (BOTTOM - TOP):.1f}"

        foretold = self.reach >= _SPAN_MIN
        end = self.reach.total_seconds()
        if self.slope < 0:
            # From there on it is at 0.
            end = min(end, self.now / -self.slope)
        return Trend(
            flavor=self.flavor,
            now=self.now,
            most=most,
            counts="M" + "L".join(at(x, y) for x, y in self.points),
            ahead=f"M{at(0, self.now)}L{at(end, self.now + self.slope * end)}" if foretold else "",
            turn=(LEFT + RIGHT) / 2,
            words=self._words() if foretold else "counted for less than a day",
        )

    def _words(self) -> str:
        days = self.reach.days
        if self.now and self.now + self.slope * self.reach.total_seconds() <= 0:
            left = timedelta(seconds=self.now / -self.slope)
            return f"as in the last {_days(days)}: none fits in about {_days(max(left.days, 1))}"
        then = round(self.after(self.reach))
        fit = f"about {then} fit" if then else "none fits"
        return f"as in the last {_days(days)}: {fit} in {_days(days)}"


def _days(number: int) -> str:
    return f"{number} day" if number == 1 else f"{number} days"
