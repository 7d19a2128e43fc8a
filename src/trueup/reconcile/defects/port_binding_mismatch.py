# SPDX-License-Identifier: Apache-2.0
"""Port binding mismatch: a port's binding profile and the ledger name different providers.

Launchpad 1819923: Nova cannot detach the port and release its resources. When the QoS policy
changes, Neutron changes the allocation of the wrong provider, or of none.
"""

from collections.abc import Iterator
from dataclasses import replace

from trueup.reconcile.expected import Share, open_reasons
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.bindings import WrongBinding, choices_against, wrong_bindings
from trueup.reconcile.remedies.guarded_steps import bindings_step, guarded_step, with_share
from trueup.reconcile.rules.claims import OnHost, PortsMisplaced, Right, claim_of, claims
from trueup.reconcile.rules.whereabouts import as_found
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    LeftAlone,
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

NAME = "port-binding-mismatch"
TITLE = "The binding profile of a port does not name the provider that its resources come from"
REMEDY = "Let the binding profiles and the allocation name the same, right providers"
SEVERITIES = (Severity.MEDIUM,)
NEEDS = (Need.PORTS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances whose ports' profiles or whose allocation name the wrong provider."""
    for misplaced in claims(facts, PortsMisplaced):
        yield _judge(misplaced, facts)
    for uuid in sorted(facts.ports_by_device.keys() & facts.alive.keys()):
        if isinstance(claim := claim_of(uuid, facts), Right):
            yield from _unbound(claim, facts)
            if wrong := _wrong(claim, facts):
                yield _finding(claim, wrong, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """One step for all its ports: the profiles and, if it is wrong, the allocation."""
    claim = claim_of(finding.subject.uuid, facts)
    held = facts.holdings[finding.subject.uuid].allocations
    if held is None or not isinstance(claim, PortsMisplaced | Right):
        return because("not-settled-now")
    if isinstance(claim, PortsMisplaced):
        right = claim.wanted.of(Share.PORTS).known
        after = replace(held, amounts=with_share(Share.PORTS, held.amounts, right))
        return guarded_step({claim.instance.uuid: after}, facts, finding, claim.instance)
    if open_ports := [binding for binding in _wrong(claim, facts) if binding.right is None]:
        several = [_several(binding, facts) for binding in open_ports]
        against = [why for binding in open_ports for why in choices_against(binding, facts)]
        return because("several" if against else "port-provider-unknown", *several, *against)
    step = bindings_step(finding, claim.instance, facts)
    return step if isinstance(step, Reason) else (step,)


def _judge(claim: PortsMisplaced, facts: Facts) -> Verdict:
    wanted = claim.wanted.of(Share.PORTS)
    if wanted.open:
        reason = open_reasons(wanted, facts.provider_names)
        return Unchecked(
            Subject("instance", claim.instance.uuid),
            claim.provider.name,
            because("holds", reason, holds=holding(claim.held, facts.provider_names)),
        )
    found = _found(claim, facts)
    wrong = tuple(wrong_bindings(claim.provider.root, found, wanted.known, facts))
    finding = _finding(claim, wrong, facts)
    right = holding(wanted.known, facts.provider_names)
    return replace(finding, evidence={**finding.evidence, "should_hold": right})


def _unbound(claim: Right, facts: Facts) -> Iterator[Verdict]:
    """Ports that Neutron is binding now, or could not bind."""
    host = _found(claim, facts).host
    for port in facts.ports_by_device[claim.instance.uuid]:
        if port.request_groups and not port.bound_on(host):
            unbound = because("binding-unbound", binding=port.vif_type, host=host)
            elsewhere = because("binding-elsewhere", binding=port.host, host=host)
            reason = unbound if port.host in ("", host) else elsewhere
            yield LeftAlone(Subject("port", port.id), claim.provider.name, reason)


def _wrong(claim: OnHost, facts: Facts) -> tuple[WrongBinding, ...]:
    return tuple(wrong_bindings(claim.provider.root, _found(claim, facts), claim.held, facts))


def _found(claim: OnHost, facts: Facts) -> Instance:
    return as_found(claim.instance, claim.record, facts)


def _finding(claim: OnHost, wrong: tuple[WrongBinding, ...], facts: Facts) -> Finding:
    evidence: dict[str, Value] = {
        "instance": instance_evidence(claim.instance, facts),
        "holds": holding(claim.held, facts.provider_names),
    }
    if wrong:
        evidence["ports"] = tuple(row for binding in wrong for row in _ports(binding, facts))
    subject = Subject("instance", claim.instance.uuid)
    return Finding(NAME, subject, claim.provider.name, Severity.MEDIUM, evidence)


def _ports(wrong: WrongBinding, facts: Facts) -> Iterator[Structure]:
    names = facts.provider_names
    for group in wrong.groups:
        yield {
            "name": f"port {group.port.id}",
            "request_group": group.group.id,
            "profile_names": names.get(group.named, group.named) if group.named else "no provider",
            "may_be": " or ".join(names[uuid] for uuid in group.providers),
        }


def _several(wrong: WrongBinding, facts: Facts) -> Reason:
    names = facts.provider_names
    uuids = dict.fromkeys(uuid for group in wrong.groups for uuid in group.providers)
    return because(
        "port-provider-ambiguous",
        port=wrong.port.id,
        providers=tuple(names[uuid] for uuid in uuids),
    )
