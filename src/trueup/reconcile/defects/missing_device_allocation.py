# SPDX-License-Identifier: Apache-2.0
"""Missing device allocation: an instance has a device that it does not hold in Placement.

Launchpad 1896463 and 1939020: PCI devices, virtual GPUs, persistent memory, and what Cyborg
manages.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.expected import Ambiguous, NotOurs, Share, difference, open_reasons
from trueup.reconcile.facts import ONE_USE_TRAIT, Facts
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import guarded_step, with_share
from trueup.reconcile.rules.claims import (
    DevicesMissing,
    OnHost,
    Right,
    RightAsFarAsKnown,
    claim_of,
    claims,
)
from trueup.reconcile.rules.unoffered import reason_of, unoffered_classes
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Unchecked,
    Value,
    Verdict,
    holding,
    instance_evidence,
)

NAME = "missing-device-allocation"
TITLE = "An instance does not hold a device, or a resource class, that it asks for"
REMEDY = "Allocate the devices whose providers are known"
SEVERITIES = (Severity.HIGH,)
NEEDS: tuple[Need, ...] = ()
SCOPE = Scope.SELECTION

_CYBORG = "Cyborg"


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances that hold everything they should except devices."""
    unoffered = unoffered_classes(facts)
    for claim in claims(facts, DevicesMissing):
        if claim.instance.uuid not in unoffered:
            yield _finding(claim, facts)
    for name in sorted({name for names in unoffered.values() for name in names}):
        yield Unchecked(Subject("class", name), "", reason_of(name))
    for other in claims(facts, RightAsFarAsKnown):
        if _lacks_accelerators(other):
            yield _finding(other, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One full replace with the devices whose providers are known."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    if held is None or not isinstance(claim, DevicesMissing | Right):
        return because("not-settled-now")
    wanted = claim.wanted.of(Share.DEVICES)
    if any(isinstance(part, NotOurs) and part.owner == _CYBORG for part in wanted.open):
        return because("cyborg-allocates")
    if wanted.open:
        reasons = open_reasons(wanted, facts.provider_names)
        return because("device-provider-open", reasons)
    if once := [uuid for uuid in wanted.known if _is_one_time(uuid, facts)]:
        names = tuple(sorted(facts.provider_names[uuid] for uuid in once))
        return because("one-use-reserved", providers=names)
    after = replace(held, amounts=with_share(Share.DEVICES, held.amounts, wanted.known))
    return guarded_step({claim.instance.uuid: after}, facts, finding, claim.instance)


def _lacks_accelerators(claim: RightAsFarAsKnown) -> bool:
    """Whether Cyborg should have allocated a device for it, but apparently did not."""
    if not any(isinstance(part, NotOurs) and part.owner == _CYBORG for part in claim.wanted.open):
        return False
    return claim.held == claim.wanted.known


def _is_one_time(uuid: str, facts: Facts) -> bool:
    """Whether the device is for one use: Nova then reserves all of it at allocation."""
    return ONE_USE_TRAIT in (facts.providers[uuid].traits or ())


def _finding(claim: OnHost, facts: Facts) -> Finding:
    names = facts.provider_names
    found = difference(Share.DEVICES, claim.held, claim.wanted)
    missing: list[Structure] = [
        {"name": part.source, "requests": part.amounts} for part in found.lacking
    ]
    missing += [
        {"name": part.source, "allocated_by": part.owner}
        for part in claim.wanted.open
        if isinstance(part, NotOurs) and part.owner == _CYBORG
    ]
    choices: tuple[Structure, ...] = tuple(
        {"name": names[uuid], "for": part.source, "provider": uuid}
        for part in found.lacking
        if isinstance(part, Ambiguous)
        for uuid in part.providers
    )
    evidence: dict[str, Value] = {
        "instance": instance_evidence(claim.instance, facts),
        "holds": holding(claim.held, names),
        "missing": tuple(missing),
    }
    if choices:
        evidence["choices"] = choices
    subject = Subject("instance", claim.instance.uuid)
    return Finding(NAME, subject, claim.provider.name, Severity.HIGH, evidence)
