# SPDX-License-Identifier: Apache-2.0
"""Doubled allocation: an instance holds twice what it should, on two hosts or on one.

Launchpad 1712718, 1819460, 1837955 (a build that went on elsewhere) and 1664931, 1750618 (a rebuild
with another image). If it holds resources of two hosts, no migration explains the second one.
"""

from collections.abc import Iterator
from itertools import chain

from trueup.reconcile.expected import NotOurs, Share, Unknown, held_of
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import amounts_verdict, full_replace
from trueup.reconcile.rules.claims import Doubled, OnHost, OnTwoHosts, claim_of, claims, elsewhere
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Unchecked,
    Verdict,
)

NAME = "doubled-allocation"
TITLE = "An instance holds what it should twice, on two hosts or on one"
REMEDY = "Let it hold what it should once, on its own host, and release it on any other host"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold two hosts' resources without a move, or twice of their own."""
    for claim in chain(claims(facts, OnTwoHosts), claims(facts, Doubled)):
        verdict = amounts_verdict(NAME, Severity.MEDIUM, claim, facts)
        if isinstance(verdict, Finding) and (strange := _strange(claim, facts)):
            # SAFETY: nothing known of the instance requests them, so another service may have.
            reason = because("classes-elsewhere-unexplained", classes=tuple(strange))
            verdict = Unchecked(verdict.subject, verdict.where, reason)
        yield verdict


def _strange(claim: OnHost, facts: Facts) -> list[str]:
    """The classes of devices that it holds on other hosts, and does not request on its own."""
    others = elsewhere(claim, facts)
    there = {uuid: row for uuid, row in claim.held.items() if facts.roots_of({uuid: row}) & others}
    held = {name for row in held_of(Share.DEVICES, there).values() for name in row}
    parts = claim.wanted.of(Share.DEVICES).parts
    if any(isinstance(part, NotOurs) and not part.amounts for part in parts):
        # Cyborg alone knows which classes its device profile asks for.
        return []
    asked = {name for part in parts if not isinstance(part, Unknown) for name in part.amounts}
    return sorted(held - asked)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace: once what it should hold, on its own host."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, OnTwoHosts | Doubled):
        return because("right-now-not-doubled")
    return full_replace(claim, finding, facts)
