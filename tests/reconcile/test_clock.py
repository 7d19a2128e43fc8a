# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime, timedelta

import pytest

from trueup.reconcile.clock import now, oldest_age


def test_the_present_is_naive_utc():
    before = datetime.now(UTC).replace(tzinfo=None)
    assert before <= now() <= datetime.now(UTC).replace(tzinfo=None)


@pytest.mark.parametrize(("ahead", "age"), [(None, 5), (-60, 5), (0, 5), (60, 65)])
def test_an_age_is_by_the_clock_that_makes_it_older(ahead, age):
    ours = now()
    found = oldest_age(
        ours - timedelta(seconds=5), ours, None if ahead is None else timedelta(seconds=ahead)
    )
    assert found == timedelta(seconds=age)
