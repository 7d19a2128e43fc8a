# SPDX-License-Identifier: Apache-2.0
"""Rehearsals of commands: on a copy of the ledger in a Placement of their own."""

import tempfile
from pathlib import Path

from trueup.lab.embedded import embedded_placement
from trueup.reconcile.collect import collect
from trueup.reconcile.collect.coverage import Progress
from trueup.reconcile.copies import ledger_copy
from trueup.reconcile.copies.ledger_copy import AmountBelowOne, CopyRefused, LedgerCopy
from trueup.reconcile.copies.rehearse import LedgerNotRehearsable, Rehearsal, rehearse
from trueup.reconcile.plan import Plan
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.cloud import Cloud


def rehearsed(plan: Plan, cloud: Cloud, report: Progress) -> Rehearsal:
    """Apply a plan to a copy of the ledger. Raises LedgerNotRehearsable, and as `collect`."""
    with (
        tempfile.TemporaryDirectory(prefix="trueup-rehearsal-") as name,
        embedded_placement(Path(name)) as placement,
    ):
        facts = collect(cloud, report)
        _copy(ledger_copy.read(cloud, report), Cloud(cloud.nova, placement), report)
        return rehearse(plan, facts, placement, Path(name) / "journal")


def _copy(copied: LedgerCopy, cloud: Cloud, report: Progress) -> None:
    """Fill the embedded Placement. Raises LedgerNotRehearsable."""
    try:
        ledger_copy.write(copied, cloud, report)
    except CopyRefused as refused:
        raise LedgerNotRehearsable(refused.part, in_words(refused.reason)) from refused
    except AmountBelowOne as one:
        reason = f"it holds {one.resource_class}={one.amount}, and Placement takes no such amount"
        raise LedgerNotRehearsable(f"consumer {one.consumer}", reason) from one
