# SPDX-License-Identifier: Apache-2.0
"""The clock: every time that Trueup writes down comes from here."""

from datetime import UTC, datetime


def now() -> datetime:
    """The present as naive UTC, which is how Nova keeps its times."""
    return datetime.now(UTC).replace(tzinfo=None)
