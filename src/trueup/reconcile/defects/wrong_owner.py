# SPDX-License-Identifier: Apache-2.0
"""Wrong owner: Placement counts an instance's resources for another project or user than its own.

Launchpad 1779717, 1780107: Placement's online migration gives a consumer without a row a project
and a user of zeros. An administrator's move counts for the administrator, where the request spec is
older than Rocky (nova/scheduler/utils.py, claim_resources).
"""

from collections.abc import Iterator

from trueup.reconcile.facts import Facts, Owner
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.full_replace import with_owner
from trueup.reconcile.rules.claims import OnHost, Right, claim_of
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Evidence,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "wrong-owner"
TITLE = "An instance holds what it should, but for another project or user"
REMEDY = "Let it hold the same resources for the project and the user that Nova has"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.OWNERS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances whose allocations count for another owner."""
    for uuid in sorted(_of_others(facts)):
        claim, counted_for = claim_of(uuid, facts), facts.owners[uuid]
        if not isinstance(claim, OnHost):
            continue
        instance = claim.instance
        subject, where = Subject("instance", instance.uuid), claim.provider.name
        if reason := _obstacle(claim, counted_for):
            yield Unchecked(
                subject,
                where,
                because("counted-for", reason, project=counted_for.project, user=counted_for.user),
            )
            continue
        evidence: Evidence = {
            "instance": instance_evidence(instance, facts),
            "counted_for": _owner_evidence(counted_for),
            "should_count_for": _owner_evidence(Owner(instance.project, instance.user)),
            "holds": holding(claim.held, facts.provider_names),
        }
        yield Finding(NAME, subject, where, Severity.MEDIUM, evidence)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace with the same amounts, and the right project and user."""
    uuid = finding.subject.uuid
    claim = claim_of(uuid, facts)
    held = facts.holdings[uuid].allocations
    if held is None:
        return because("holds-nothing-now")
    if not isinstance(claim, Right):
        return because("repair-claim-first")
    if Owner(held.project, held.user) != facts.owners.get(uuid):
        return because("owner-changed")
    return with_owner(claim, finding, facts)


def _of_others(facts: Facts) -> Iterator[str]:
    """The instances that Placement counts for another project or user than Nova has."""
    for uuid, owner in facts.owners.items():
        row = facts.alive.get(uuid)
        if row is not None and (owner.project != row.project or owner.user != row.user):
            yield uuid


def _obstacle(claim: OnHost, counted_for: Owner) -> Reason | None:
    """Why the owner of the instance, or its claim, is not certain; or None."""
    if not (counted_for.project and counted_for.user):
        return because("owner-row-gone")
    if not (claim.instance.project and claim.instance.user):
        return because("nova-names-no-owner")
    return None


def _owner_evidence(owner: Owner) -> Structure:
    return {"project": owner.project, "user": owner.user}
