# SPDX-License-Identifier: Apache-2.0
"""The clock: every time that Trueup writes down comes from here."""

from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """The present as naive UTC, which is how Nova keeps its times."""
    return datetime.now(UTC).replace(tzinfo=None)


def oldest_age(moment: datetime, ours: datetime, ahead: timedelta | None) -> timedelta:
    """How old a moment is by our clock, or by one that is ahead of it by so much.

    SAFETY: a clock of ours that is behind would make old evidence look fresh.
    """
    return ours + max(ahead or timedelta(), timedelta()) - moment
