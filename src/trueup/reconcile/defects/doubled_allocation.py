# SPDX-License-Identifier: Apache-2.0
"""Doubled allocation: an instance holds twice what it should, on two hosts or on one.

Drift B.10 and B.11, Launchpad 1712718, 1819460, 1837955 (a build that went on elsewhere) and
1664931, 1750618 (a rebuild with another image). If it holds resources of two hosts, no migration
explains the second one.
"""

from collections.abc import Iterator
from itertools import chain

from trueup.reconcile.claims import Doubled, OnTwoHosts, claim_of, claims
from trueup.reconcile.facts import Facts
from trueup.reconcile.findings import Declined, Finding, Severity, Verdict
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.replacing import replaced, replacing
from trueup.reconcile.steps import Step

NAME = "doubled-allocation"
TITLE = "It holds twice what it should, on its host or on another one as well"
REMEDY = "Let it hold what it should once, on its own host, and release it on any other host"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold resources of two hosts without a move, or twice of their own."""
    for claim in chain(claims(facts, OnTwoHosts), claims(facts, Doubled)):
        yield replacing(NAME, Severity.MEDIUM, claim, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """One full replace: once what it should hold, on its own host."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, OnTwoHosts | Doubled):
        return Declined("it does not hold twice what it should now")
    return replaced(claim, finding, facts)
