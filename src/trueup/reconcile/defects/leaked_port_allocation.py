# SPDX-License-Identifier: Apache-2.0
"""Leaked port allocation: an instance holds bandwidth or packet rate that no port of it requests.

Launchpad 1820588: the port was deleted in Neutron while it was bound, or Placement refused the
request when it was detached. Nova's log says that the resources "are leaked until the server is
deleted".
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.expected import Share, Unknown, difference, held_of, open_reasons
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import guarded_step, with_share
from trueup.reconcile.rules.claims import PortsLeaked, RightAsFarAsKnown, claim_of, claims
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Subject,
    Unchecked,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "leaked-port-allocation"
TITLE = "An instance holds bandwidth or packet rate that none of its ports requests"
REMEDY = "Keep what its ports request, release the rest of their resource classes"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.COMPLETE,)
SCOPE = Scope.SELECTION

# Nova attaches and detaches ports without a task state, and changes the allocation and the binding
# in two requests. They are at most this far apart, unless Neutron does not answer.
_BINDING_SECONDS = 10


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold more than their ports request."""
    for claim in claims(facts, PortsLeaked):
        yield _judge(claim, facts)
    for other in claims(facts, RightAsFarAsKnown):
        if reason := _unread(other, facts):
            yield Unchecked(Subject("instance", other.instance.uuid), other.provider.name, reason)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace: its ports' requests for the ports' classes; other classes are kept."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    wanted = claim.wanted.of(Share.PORTS) if isinstance(claim, PortsLeaked) else None
    if held is None or wanted is None or wanted.open:
        return because("ports-unknown")
    after = replace(held, amounts=with_share(Share.PORTS, held.amounts, wanted.known))
    return guarded_step({claim.instance.uuid: after}, facts, finding, claim.instance)


def _unread(claim: RightAsFarAsKnown, facts: Facts) -> Reason | None:
    """Why it is not known what its ports should hold, if what they hold looks wrong; or None.

    Without Neutron, Nova's own copy of the ports at least shows whether they hold something.
    """
    held = held_of(Share.PORTS, claim.held)
    ports = facts.ports_by_device.get(claim.instance.uuid, ())
    open_parts = claim.wanted.of(Share.PORTS).open
    if not open_parts or not (held or ports or claim.instance.ports_hold):
        return None
    holds = holding(held, facts.provider_names)
    if not facts.ports_read:
        if bool(held) == claim.instance.ports_hold:
            return None
        some = claim.instance.ports_hold
        return because("ports-held-unread" if some else "ports-not-held-unread", holds=holds)
    unbound = any(not port.bound_on(claim.instance.host) for port in ports)
    if unbound or not any(isinstance(part, Unknown) for part in open_parts):
        return None
    return because("ports-uncertain", open_reasons(claim.wanted, facts.provider_names), holds=holds)


def _judge(claim: PortsLeaked, facts: Facts) -> Verdict:
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    found = difference(Share.PORTS, claim.held, claim.wanted)
    wanted = claim.wanted.of(Share.PORTS)
    if wanted.open:
        # SAFETY: the remedy would release it, and a port that was not read may need it.
        reason = open_reasons(wanted, names)
        excess = holding(found.excess, names)
        return Unchecked(
            subject, claim.provider.name, because("beyond-ports", reason, holds=excess)
        )
    return Finding(
        NAME,
        subject,
        claim.provider.name,
        Severity.MEDIUM,
        {
            "instance": instance_evidence(claim.instance, facts),
            "holds": holding(claim.held, names),
            "leaked": holding(found.excess, names),
        },
        may_pass_within=_BINDING_SECONDS,
    )
