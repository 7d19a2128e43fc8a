# SPDX-License-Identifier: Apache-2.0
"""The verdict on a repair: what became of a finding whose steps are done."""

from dataclasses import dataclass
from enum import StrEnum

from trueup.reconcile.reasons import Reason
from trueup.reconcile.verdicts.findings import Finding


class State(StrEnum):
    """What became of a finding whose steps are done.

    GONE: its subject was judged, and has no finding. STILL_THERE: the audit finds it again, and its
    targets are as the run left them. COME_BACK: the audit finds it again, and its targets have
    changed since the run. OTHER: its subject has another finding. NOT_JUDGED: its subject could not
    be judged, or is in motion.
    """

    GONE = "gone"
    STILL_THERE = "still there"
    COME_BACK = "come back"
    OTHER = "other"
    NOT_JUDGED = "not judged"


FOUND_AGAIN = frozenset({State.STILL_THERE, State.COME_BACK})


@dataclass(frozen=True, slots=True)
class Verified:
    """A finding and its state.

    `others` are findings about the same subject; `reason` says why it could not be judged.
    """

    finding: Finding
    state: State
    others: tuple[Finding, ...] = ()
    reason: Reason | None = None
