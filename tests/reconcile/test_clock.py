# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime

from trueup.reconcile.clock import now


def test_the_present_is_naive_utc():
    before = datetime.now(UTC).replace(tzinfo=None)
    assert before <= now() <= datetime.now(UTC).replace(tzinfo=None)
