# SPDX-License-Identifier: Apache-2.0
"""The defects Trueup knows, in the order in which they are asked. One file each."""

from collections.abc import Iterator
from typing import Protocol

from trueup.reconcile.defects import (
    evacuation_residue,
    missing_allocation,
    orphaned_allocation,
    wrong_provider,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Finding, Verdict
from trueup.reconcile.rules import Rules
from trueup.reconcile.steps import Step


class Defect(Protocol):
    """What each file of this folder offers: names, and two pure functions."""

    NAME: str
    TITLE: str
    REMEDY: str

    def find(self, facts: Facts, rules: Rules) -> Iterator[Verdict]: ...

    def remedy(self, finding: Finding, facts: Facts) -> tuple[Step, ...]: ...


DEFECTS: tuple[Defect, ...] = (
    orphaned_allocation,
    evacuation_residue,
    missing_allocation,
    wrong_provider,
)
