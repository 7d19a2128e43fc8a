# SPDX-License-Identifier: Apache-2.0
"""Numbers with their nouns, for the few sentences that are not made in report/."""


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 finding`, `2 findings`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
