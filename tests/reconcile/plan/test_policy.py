# SPDX-License-Identifier: Apache-2.0
"""When a policy is open, which rules fit, and what a policy may not say."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.reconcile.plan.policies import policy
from trueup.reconcile.plan.policy import DAYS, Case, Window
from trueup.reconcile.plan.policy_file import PolicyInvalid
from trueup.reconcile.verdicts import Severity

CASE = Case("orphaned-allocation", Severity.MEDIUM, "cell1", "lab-1", "p", "releases", 3)
FITTING = {
    "defects": ("orphaned-allocation", "wrong-owner"),
    "severities": ("medium", "high"),
    "cells": ("cell1", "cell2"),
    "hosts": ("lab-*", "prod-*"),
    "projects": ("p", "q"),
    "directions": ("releases", "adds"),
}


@pytest.mark.parametrize("condition", FITTING)
def test_a_rule_fits_where_each_of_its_conditions_does(condition):
    fitting, other = FITTING[condition]
    for value, fits in ((fitting, True), (other, False)):
        [rule] = policy(f'[[rule]]\ndecision = "ask"\n{condition} = ["{value}"]\n').rules
        assert rule.fits(CASE) is fits
        assert [*rule.conditions] == [f"{condition} {value}"]


def test_a_rule_for_small_plans_does_not_fit_a_larger_one():
    small, smaller = policy(
        '[[rule]]\ndecision = "ask"\nsubjects_max = 3\n'
        '[[rule]]\ndecision = "ask"\nsubjects_max = 2\n'
    ).rules
    assert (small.fits(CASE), smaller.fits(CASE)) == (True, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rules]]", "unknown field `rules`"),
        ('[[rule]]\ndecision = "perhaps"', "in rule 1, decision: "),
        (
            '[[rule]]\ndecision = "never"\ndefects = ["nosuch"]',
            "there is no defect nosuch; 'trueup",
        ),
        ('[[rule]]\ndecision = "approval"\napprovals = 0', ">= 1"),
        ('[[window]]\nfrom = "25:00"\nto = "02:00"', "no time of day"),
        ('[[window]]\nfrom = "22:00\\n"\nto = "02:00"', "in window 1, from: it is no time of day"),
        ('[[rule]]\ndecision = "never"\nhost = ["a"]', "in rule 1: unknown field `host`; did you"),
        ('[[rule]]\ndecision = "never"\ndefects = ["wrong-owners"]', "did you mean wrong-owner?"),
        ("required = 2", "belongs into [approval]"),
        ('default = "approve"', "it is one of never, approval, ask, automatic"),
        ('[[rule]]\ndecision = "never"\nsubjects_max = 0', ">= 1"),
        ('[[window]]\ndays = []\nfrom = "22:00"\nto = "23:00"', "length >= 1"),
        ("[[freeze]]\nfrom = 2027-01-06T00:00:00Z\nto = 2026-12-20T00:00:00Z", "ends before"),
        ("[[freeze]]\nfrom = 2026-12-20T00:00:00Z\nto = 9999-12-31T23:00:00-05:00", "year 9999"),
        ("[[freeze]]\nfrom = 2026-12-20T00:00:00+01:00\nto = 2026-12-19T23:00:00", "ends before"),
        ("nonsense", "expected"),
    ],
)
def test_what_means_nothing_is_refused_by_name(text, words):
    with pytest.raises(PolicyInvalid) as raised:
        policy(text)
    assert words.lower() in raised.value.reason.lower()


NIGHT = '[[window]]\ndays = ["fri"]\nfrom = "22:00"\nto = "04:00"\n'


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        ("2026-11-27T21:59:59", False),  # a Friday
        ("2026-11-27T22:00:00", True),
        ("2026-11-28T03:59:59", True),  # the night of that Friday
        ("2026-11-28T04:00:00", False),
        ("2026-11-28T22:00:00", False),
        ("2026-11-27T03:00:00", False),  # the night of Thursday
    ],
)
def test_a_window_past_midnight_is_of_the_day_on_which_it_opens(moment, is_open):
    reason = policy(NIGHT).closed(datetime.fromisoformat(moment))
    assert (reason is None) is is_open


clocks = some.times().map(lambda one: one.strftime("%H:%M"))


@given(
    begins=clocks,
    ends=clocks,
    days=some.sets(some.sampled_from(DAYS)),
    at=some.datetimes(min_value=datetime(2000, 1, 1)),
)
def test_a_window_is_open_for_as_long_as_it_says(begins, ends, days, at):
    """An oracle that counts minutes since the window opened, today or yesterday."""
    window = Window(begins=begins, ends=ends, days=tuple(days))
    first, last = (int(one[:2]) * 60 + int(one[3:]) for one in (begins, ends))
    length = (last - first) % 1440 or 1440
    minute = at.hour * 60 + at.minute
    since = (minute - first) % 1440
    opened = (at.weekday() - (minute < first)) % 7
    assert window.has(at) == (since < length and DAYS[opened] in days)


def test_a_freeze_closes_and_says_until_when():
    text = '[[freeze]]\nfrom = 2026-12-20T00:00:00+01:00\nto = 2027-01-06T00:00:00Z\nreason = "y"\n'
    frozen = policy(text)
    assert frozen.closed(datetime(2026, 12, 19, 22, 59)) is None
    reason = frozen.closed(datetime(2026, 12, 19, 23, 0))
    assert reason.fields == {"until": "2027-01-06 00:00", "reason": "y"}
    assert frozen.closed(datetime(2027, 1, 6)) is None
