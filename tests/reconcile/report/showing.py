# SPDX-License-Identifier: Apache-2.0
"""Audits of small clouds as reports show them."""

from tests.reconcile.planning import BROKEN, facts_of
from tests.scenarios.drafting import NOW
from trueup.reconcile.audit import observation, remarks
from trueup.reconcile.facts import Facts
from trueup.reconcile.report.audit_view import AuditView, ShownAudit, shown
from trueup.reconcile.report.effects import FindingEffect, effects_of
from trueup.reconcile.verdicts import Acknowledgement, AuditOptions

# Findings, something in motion, an instance of which too little is known, and a silent cell.
MIXED = f"{BROKEN}  server busy on h1 task=migrating\n  server lost on h9\ncell2 silent\n"
TODAY = NOW.date()
WHOLE = AuditView()


def said(kind, name: str) -> Acknowledgement:
    return Acknowledgement(kind, name, "ticket 4711", TODAY, by="ann")


def shown_of(
    text: str, view: AuditView = WHOLE, *acknowledgements: Acknowledgement
) -> tuple[ShownAudit, dict[str, FindingEffect]]:
    """What a view shows of a cloud, and the effects of its findings."""
    return shown_facts(facts_of(text), view, *acknowledgements)


def shown_facts(
    facts: Facts, view: AuditView = WHOLE, *acknowledgements: Acknowledgement
) -> tuple[ShownAudit, dict[str, FindingEffect]]:
    seen = observation(facts, AuditOptions(acknowledgements=acknowledgements))
    what = shown(seen.audit, view, remarks(seen.facts, seen.audit))
    return what, effects_of(seen.audit.every_finding, seen.facts)
