# SPDX-License-Identifier: Apache-2.0
"""Numbers with their nouns, for the few sentences that are not made in report/."""

from datetime import timedelta


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 finding`, `2 findings`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def age_in_words(age: timedelta) -> str:
    """`5 minutes`, `3 hours`, `12 days`: the largest unit, rounded down."""
    seconds = int(age.total_seconds())
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return counted(seconds // length, unit)
    # Clocks differ: what seems to come is of this moment.
    return counted(max(seconds, 0), "second")
