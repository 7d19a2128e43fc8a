# SPDX-License-Identifier: Apache-2.0
"""The verdict of an explanation of `trueup why`, in words."""

from trueup.placement.index.filters import text_of
from trueup.placement.why.explain import Explanation


def verdict(found: Explanation) -> str:
    """How many hosts have candidates, or which filter leaves out the last."""
    decisive = next((step for step in found.steps if not step.left), None)
    if decisive is None:
        return f"{found.left} of {found.hosts} hosts have candidates."
    text = text_of(decisive.filter)
    return f"No host is left after {text}: it leaves out the last {decisive.lost} of {found.hosts}."
