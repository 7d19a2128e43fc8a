# SPDX-License-Identifier: Apache-2.0
"""Missing allocation: a settled instance on a known host holds nothing at all.

What `nova-manage placement heal_allocations` repairs (seed 001), and what it cannot: dedicated
processors asked for by the image, nested providers, ports.
"""

from collections.abc import Iterator

from trueup.reconcile.claims import Missing, claim_of, claims
from trueup.reconcile.expected import open_reasons
from trueup.reconcile.facts import Allocations, Facts
from trueup.reconcile.findings import (
    Declined,
    Finding,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)
from trueup.reconcile.options import AuditOptions
from trueup.reconcile.remedies import guarded_step
from trueup.reconcile.steps import Step

NAME = "missing-allocation"
TITLE = "It runs on a host and holds nothing"
REMEDY = "Allocate what its flavor, image and ports ask for on its host"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances without any allocation."""
    return (_judge(claim, facts) for claim in claims(facts, Missing))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """Allocate all that it should hold on its host, for its project and user."""
    claim = claim_of(finding.subject.uuid, facts)
    if not isinstance(claim, Missing) or claim.wanted.open:
        return Declined("what it should hold is not known")
    instance = claim.instance
    after = Allocations(claim.wanted.known, instance.project, instance.user)
    return (guarded_step({instance.uuid: after}, facts, finding, instance),)


def _judge(claim: Missing, facts: Facts) -> Verdict:
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    if claim.wanted.open:
        reasons = open_reasons(claim.wanted, names)
        return Unchecked(subject, claim.provider.name, f"holds nothing; {reasons}")
    return Finding(
        NAME,
        subject,
        claim.provider.name,
        Severity.HIGH,
        {
            "instance": instance_evidence(claim.instance, facts),
            "holds": (),
            "should_hold": holding(claim.wanted.known, names),
        },
    )
