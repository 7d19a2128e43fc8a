# SPDX-License-Identifier: Apache-2.0
"""What became of a repaired finding is decided by what an audit says of its subject."""

from dataclasses import replace

import pytest

from tests.reconcile.planning import BROKEN, audited, planned
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.verification import verified
from trueup.reconcile.verdicts.verified import State

FINDINGS = planned().findings
REPAIRED = BROKEN.replace("holds old h1 VCPU=2 MEMORY_MB=256 DISK_GB=6\n", "").replace(
    "holds db h2 VCPU=1 MEMORY_MB=128", "holds db h1 VCPU=1 MEMORY_MB=128"
)
WHOLE = f"{REPAIRED}holds web h1 VCPU=2 MEMORY_MB=256 DISK_GB=6\n"


def states(text: str, as_left: bool = True) -> dict[str, State]:
    """The state of the finding of each defect, if the cloud is like this after the write."""
    rows = verified(FINDINGS, audited(text), lambda _: as_left)
    return {row.finding.defect: row.state for row in rows}


def test_a_repaired_cloud_has_none_of_them():
    assert len(FINDINGS) == 3
    assert set(states(WHOLE).values()) == {State.GONE}


@pytest.mark.parametrize(
    ("as_left", "state"), [(True, State.STILL_THERE), (False, State.COME_BACK)]
)
def test_whether_somebody_wrote_since_tells_still_there_from_come_back(as_left, state):
    assert set(states(BROKEN, as_left).values()) == {state}


def test_another_finding_of_the_same_subject_is_named():
    text = WHOLE.replace("holds db h1 VCPU=1 MEMORY_MB=128", "holds db h1 VCPU=2 MEMORY_MB=128")
    [row] = [
        row for row in verified(FINDINGS, audited(text), lambda _: True) if row.state is State.OTHER
    ]
    assert [one.defect for one in row.others] == ["wrong-amount"]


def test_a_subject_in_motion_is_not_judged():
    text = WHOLE.replace("server db on h1", "server db on h1 task=migrating")
    rows = verified(FINDINGS, audited(text), lambda _: True)
    [row] = [row for row in rows if row.state is not State.GONE]
    assert row.state is State.NOT_JUDGED
    assert row.reason


RESIZED = """cell1
  host h1 VCPU=8 MEMORY_MB=8192 up
  host h2 VCPU=8 MEMORY_MB=8192 up
  server web on h2 state=resized VCPU=2 MEMORY_MB=256 old-VCPU=1
  resize of web from h1 to h2 finished
holds web h2 VCPU=2 MEMORY_MB=256
"""


def test_a_claim_that_a_waiting_move_had_lost_is_gone_when_both_are_right():
    lost = audited(RESIZED)
    assert [row.defect for row in lost.findings] == ["missing-allocation"]
    seen = audited(RESIZED + "holds resize-of-web h1 VCPU=1 MEMORY_MB=256\n")
    [row] = verified(lost.findings, seen, lambda _: True)
    assert row.state is State.GONE


def test_with_a_silent_source_nothing_is_called_gone():
    seen = audited(WHOLE)
    silent = replace(seen.coverage.sources[0], answered=False, reason="no answer")
    seen = replace(seen, coverage=replace(seen.coverage, sources=(silent,)))
    rows = list(verified(FINDINGS, seen, lambda _: True))
    assert {row.state for row in rows} == {State.NOT_JUDGED}
    assert all("no answer" in in_words(row.reason) for row in rows)
