# SPDX-License-Identifier: Apache-2.0
"""The line of where a count will be, with numbers that are on a line already."""

import re
from datetime import timedelta

import pytest

from tests.reconcile.watch.watching import at
from trueup.reconcile.page.trend import BOTTOM, LEFT, RIGHT, SHOWN_MAX, TOP, PastCount, trends

DAY = 24 * 60


def daily(*counts: int) -> list[PastCount]:
    return [PastCount(at(day * DAY), {"m1": count}) for day, count in enumerate(counts)]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((40, 30, 20), "as in the last 2 days: none fits in about 2 days"),
        ((40, 39, 38), "as in the last 2 days: about 36 fit in 2 days"),
        ((5, 5), "as in the last 1 day: about 5 fit in 1 day"),
        ((1, 2, 3, 4), "as in the last 3 days: about 7 fit in 3 days"),
        ((0, 0), "as in the last 1 day: none fits in 1 day"),
        ((40,), "counted for less than a day"),
    ],
)
def test_a_line_goes_on_for_as_long_as_the_counts_reach_back(counts, words):
    [trend] = trends(daily(*counts))
    assert (trend.now, trend.words) == (counts[-1], words)
    assert bool(trend.ahead) is (len(counts) > 1)
    points = re.findall(r"([\d.-]+) ([\d.-]+)", trend.counts + trend.ahead)
    assert all(LEFT <= float(x) <= RIGHT and TOP <= float(y) <= BOTTOM for x, y in points)


def test_counts_of_more_than_a_month_ago_do_not_count():
    old = [PastCount(at(-40 * DAY), {"m1": 1000})]
    assert trends(old + daily(4, 4)) == trends(daily(4, 4))


def test_what_runs_out_first_comes_first_and_what_never_fitted_last():
    past = [
        PastCount(at(day * DAY), {"never": 0, "falls": 9 - 4 * day, "stays": 5, "new": 7})
        for day in range(3)
    ]
    past[0] = PastCount(past[0].at, {**past[0].fits, "gone": 3})
    past[1] = PastCount(past[1].at, {name: n for name, n in past[1].fits.items() if name != "new"})
    assert [trend.flavor for trend in trends(past)] == ["falls", "stays", "new", "never"]
    many = [PastCount(at(0), {f"m{number}": number for number in range(99)})]
    assert [trend.now for trend in trends(many)] == [*range(1, SHOWN_MAX + 1)]
    assert trends([]) == ()


def test_a_month_back_is_a_month_ahead():
    [trend] = trends([PastCount(at(-30 * DAY), {"m1": 2}), PastCount(at(0), {"m1": 2})])
    assert trend.counts.startswith(f"M{LEFT:.1f} ")
    assert f"L{RIGHT:.1f} " in trend.ahead
    assert timedelta(days=30) == at(0) - at(-30 * DAY)
