# SPDX-License-Identifier: Apache-2.0
"""Expected allocations: what an instance should hold, on which providers, how certainly. Pure."""

from trueup.reconcile.expected.comparison import agrees, covers
from trueup.reconcile.expected.groups import UNSUFFIXED, Group, flavor_groups
from trueup.reconcile.expected.instances import expected, expected_on
from trueup.reconcile.expected.parts import (
    Ambiguous,
    ExpectedAllocation,
    ExpectedPart,
    Known,
    NotOurs,
    Unknown,
    open_reason,
    open_reasons,
)

__all__ = [
    "UNSUFFIXED",
    "Ambiguous",
    "ExpectedAllocation",
    "ExpectedPart",
    "Group",
    "Known",
    "NotOurs",
    "Unknown",
    "agrees",
    "covers",
    "expected",
    "expected_on",
    "flavor_groups",
    "open_reason",
    "open_reasons",
]
