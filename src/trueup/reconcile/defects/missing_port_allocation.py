# SPDX-License-Identifier: Apache-2.0
"""Missing port allocation: an instance does not hold what its ports request.

Launchpad 1819923 and 1894825: the port was attached before Nova allocated for ports, or got its QoS
policy later, or `nova-manage placement heal_allocations --force` dropped its resources.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.expected import (
    Ambiguous,
    ExpectedAllocation,
    Share,
    difference,
    open_reasons,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.bindings import wrong_choices
from trueup.reconcile.remedies.guarded_steps import guarded_step, with_share
from trueup.reconcile.rules.claims import PortsMissing, claim_of, claims
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Value,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "missing-port-allocation"
TITLE = "An instance does not hold the bandwidth or packet rate that its ports request"
REMEDY = "Allocate what its ports request, and name the providers in the ports' binding profiles"
SEVERITIES = (Severity.HIGH,)
NEEDS = (Need.PORTS,)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold less than their ports request."""
    return (_finding(claim, facts) for claim in claims(facts, PortsMissing))


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One step: what all its ports request, and binding profiles with the right providers."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    if held is None or not isinstance(claim, PortsMissing):
        return because("not-settled-now")
    wanted = claim.wanted.of(Share.PORTS)
    wrong = tuple(_wrong_choices(claim, facts))
    if wanted.open or wrong:
        return _why_open(claim, wrong, facts)
    after = replace(held, amounts=with_share(Share.PORTS, held.amounts, wanted.known))
    return guarded_step({claim.instance.uuid: after}, facts, finding, claim.instance)


def _why_open(claim: PortsMissing, wrong: tuple[Reason, ...], facts: Facts) -> Reason:
    """Why the right providers are not known, and what the operator can do."""
    wanted = claim.wanted.of(Share.PORTS)
    reason = open_reasons(wanted, facts.provider_names)
    if any(isinstance(part, Ambiguous) and not part.providers for part in wanted.open):
        host = claim.instance.host
        return because("port-inventory-missing", reason, host=host)
    return because("several", reason, *wrong) if wrong else because("port-provider-open", reason)


def _wrong_choices(claim: PortsMissing, facts: Facts) -> Iterator[Reason]:
    """The operator's choices that cannot give what a port lacks."""
    lacking = {part.source for part in difference(Share.PORTS, claim.held, claim.wanted).lacking}
    for port in facts.ports_by_device.get(claim.instance.uuid, ()):
        source = f"port {port.id}"
        parts = [row for row in claim.wanted.parts if getattr(row, "source", "") == source]
        if source in lacking:
            suitable = ExpectedAllocation(port.id, tuple(parts)).providers
            yield from wrong_choices(port, suitable, facts)


def _finding(claim: PortsMissing, facts: Facts) -> Finding:
    names = facts.provider_names
    found = difference(Share.PORTS, claim.held, claim.wanted)
    choices: tuple[Structure, ...] = tuple(
        {"name": names[uuid], "for": part.source, "provider": uuid}
        for part in found.lacking
        if isinstance(part, Ambiguous)
        for uuid in part.providers
    )
    missing: tuple[Structure, ...] = tuple(
        {"name": part.source, "requests": part.amounts} for part in found.lacking
    )
    evidence: dict[str, Value] = {
        "instance": instance_evidence(claim.instance, facts),
        "holds": holding(claim.held, names),
        "missing": missing,
    }
    if choices:
        evidence["choices"] = choices
    subject = Subject("instance", claim.instance.uuid)
    return Finding(NAME, subject, claim.provider.name, Severity.HIGH, evidence)
