# SPDX-License-Identifier: Apache-2.0
import re

from hypothesis import given
from hypothesis import strategies as st

from tests.reconcile.watch.watching import at
from trueup.reconcile.page.history import BOTTOM, LEFT, RIGHT, TOP, Mark, history_plot

COUNTS = st.fixed_dictionaries({name: st.integers(0, 50) for name in ("critical", "high", "low")})
STATES = st.sampled_from(["complete", "incomplete", "failed"])


def marks(rows):
    return [
        Mark(at(10 * n), {} if state == "failed" else counts, 0, state, "down")
        for n, (counts, state) in enumerate(rows)
    ]


def corners(outline: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", outline)]


def test_without_a_round_there_is_no_plot():
    assert history_plot([]) is None


@given(st.lists(st.tuples(COUNTS, STATES), min_size=1, max_size=20))
def test_everything_is_within_the_plot_and_areas_are_as_large_as_their_counts(rows):
    made = marks(rows)
    plot = history_plot(made)
    reported = [one for one in made if one.state != "failed"]
    assert plot.most == max((sum(one.counts.values()) for one in reported), default=0)
    assert len(plot.failed) == len(made) - len(reported)
    drawn = {area.severity.value for area in plot.areas}
    assert drawn == {name for one in reported for name, count in one.counts.items() if count}
    for area in plot.areas:
        points = corners(area.outline)
        assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in points)
        # Each round has two corners above, and the same two below, in the opposite order.
        half = len(points) // 2
        above, below = points[:half:2], points[half:][::-1][::2]
        for one, (_, high), (_, low) in zip(reported, above, below, strict=True):
            expected = one.counts.get(area.severity.value, 0) / plot.most
            assert abs((low - high) / (BOTTOM - TOP) - expected) < 0.002


def test_the_newest_rounds_come_first_and_a_failure_is_told():
    plot = history_plot(marks([({"high": 1}, "complete")] * 15 + [({}, "failed")]))
    assert len(plot.newest) == 10
    assert plot.newest[0].at == plot.last_at
    assert plot.failure == "down"
    assert history_plot(marks([({}, "failed"), ({}, "complete")])).failure == ""
