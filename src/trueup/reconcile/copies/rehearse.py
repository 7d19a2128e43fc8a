# SPDX-License-Identifier: Apache-2.0
"""Rehearse: the same apply, against a copy of the ledger and a Nova frozen from the facts.

Then the same audit: the findings that the plan remedies must be gone, there must be no new finding,
and every subject that could be checked before must be checked again.
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from trueup.reconcile import changes
from trueup.reconcile.audit import Audit, audit
from trueup.reconcile.facts import Domain, Facts, SourceStatus
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs import applied
from trueup.reconcile.runs.journal import StepOutcome
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.frozen import FrozenHypervisors, FrozenNeutron
from trueup.reconcile.sources.nova.frozen import FrozenNova
from trueup.reconcile.sources.placement.client import Placement
from trueup.reconcile.steps import (
    AgentsDown,
    Change,
    DomainDefinition,
    DomainIs,
    DomainText,
    PortBinding,
    Step,
    Version,
    VersionIs,
    at_versions,
)
from trueup.reconcile.verdicts import AuditOptions, Finding, Unchecked

# A copy has its own generations, and neither states of domains nor network agents.
_NOT_COPIED = (VersionIs, DomainIs, AgentsDown)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A step that is not rehearsed, and why."""

    step: Step
    reason: str


@dataclass(eq=False)
class LedgerNotRehearsable(Exception):
    """The ledger cannot be copied: an empty Placement does not accept a part of it."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one class of a provider before and after."""

    provider: str
    resource_class: str
    before: int
    after: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of the rehearsal of a plan.

    `left`, `new` and `unchecked` are empty if the plan is right: remedied findings that are still
    there, findings that were not there before, and subjects that could be checked only before.
    `missing` are the sources that did not answer, so that nothing of theirs was judged. `left_out`
    are the steps that were not rehearsed, and `unjudged` the findings that they remedy.
    """

    outcomes: tuple[StepOutcome, ...]
    left: tuple[Finding, ...]
    new: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    usage: tuple[Usage, ...]
    missing: tuple[SourceStatus, ...]
    left_out: tuple[LeftOut, ...] = ()
    unjudged: tuple[Finding, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything was rehearsed and judged."""
        return not (self.missing or self.left_out)

    @property
    def succeeded(self) -> bool:
        """Whether every rehearsed step was done, and the audit afterwards is as it must be."""
        done = all(outcome.result == "done" for _, outcome in self.outcomes)
        return done and not (self.left or self.new or self.unchecked)


def rehearse(plan: Plan, facts: Facts, copy: Placement, folder: Path) -> Rehearsal:
    """Apply a plan to a copy of the ledger, with its journal in a folder.

    `facts` are those of the cloud that the copy was made of. Raises as `applied`.
    """
    left_out = _left_out(plan, facts)
    out = {skipped.step.id for skipped in left_out}
    rehearsed = replace(plan, steps=tuple(step for step in plan.steps if step.id not in out))
    hypervisors, nova = FrozenHypervisors(_definitions(rehearsed)), FrozenNova(facts)
    neutron = FrozenNeutron(facts.ports)
    cloud = Cloud(nova, copy, neutron, hypervisors, compute=nova)
    first = audited(facts, cloud, plan.options)
    steps = tuple(_for_copy(step, cloud) for step in rehearsed.steps)
    with applied(replace(plan, steps=steps), cloud, folder) as run:
        outcomes = tuple(run.outcomes)
    domains = _domains_left(facts, rehearsed, hypervisors)
    last = audited(replace(nova.facts, domains=domains, ports=neutron.left), cloud, plan.options)
    unjudged = {reason for skipped in left_out for reason in skipped.step.because}
    remedied = {finding.id for finding in plan.findings} - unjudged
    known = {finding.id for finding in first.audit.findings}
    open_before = {(row.subject, row.reason) for row in first.audit.unchecked}
    found = last.audit.findings
    return Rehearsal(
        outcomes=outcomes,
        left=tuple(row for row in found if row.id in remedied),
        new=tuple(row for row in found if row.id not in known | remedied | unjudged),
        unchecked=tuple(
            row for row in last.audit.unchecked if (row.subject, row.reason) not in open_before
        ),
        usage=_usage(first.facts, last.facts),
        missing=tuple(last.audit.coverage.missing),
        left_out=left_out,
        unjudged=tuple(row for row in plan.findings if row.id in unjudged),
    )


@dataclass(frozen=True, slots=True)
class Audited:
    """Facts with the ledger of the copy, and their audit."""

    facts: Facts
    audit: Audit


def audited(facts: Facts, cloud: Cloud, options: AuditOptions) -> Audited:
    """The audit of these facts with the ledger that the copy has now."""
    ledger = cloud.placement.ledger(lambda *_: None)
    now = replace(
        facts,
        providers={**ledger.providers},
        consumers={**ledger.consumers},
        owners={**(ledger.owners or {})},
    )
    return Audited(now, audit(now, options))


def _definitions(plan: Plan) -> dict[tuple[str, str], str]:
    """The definitions that a plan removes or changes, by host and domain."""
    rows = ((change.target, change.before) for step in plan.steps for change in step.changes)
    return {
        (target.host, target.domain): before.xml
        for target, before in rows
        if isinstance(target, DomainDefinition) and isinstance(before, DomainText)
    }


def _domains_left(facts: Facts, plan: Plan, hypervisors: FrozenHypervisors) -> tuple[Domain, ...]:
    """The domains of the facts, except those whose definition the plan has removed."""
    planned = _definitions(plan).keys()
    return tuple(
        row
        for row in facts.domains
        if (row.host, row.uuid) not in planned or hypervisors.has(row.host, row.uuid)
    )


def _left_out(plan: Plan, facts: Facts) -> tuple[LeftOut, ...]:
    """The steps whose changes the rehearsal has no copy for, and steps that need one of them."""
    found: dict[str, LeftOut] = {}
    for step in plan.steps:
        nouns = [changes.noun(change) for change in step.changes if not _has_copy(change, facts)]
        needed = [need for need in step.needs if need in found]
        if nouns:
            found[step.id] = LeftOut(step, f"a rehearsal has no copy of the {nouns[0]}")
        elif needed:
            found[step.id] = LeftOut(step, f"it needs {needed[0]}, which is not rehearsed")
    return tuple(found.values())


def _has_copy(change: Change, facts: Facts) -> bool:
    match change.target:
        case DomainDefinition():
            return change.after is None
        case PortBinding():
            return facts.ports_read
    return True


def _for_copy(step: Step, cloud: Cloud) -> Step:
    """The same step with the versions of the copy, without guards of uncopied things."""
    versions = [_of_copy(change, cloud) for change in step.changes]
    guards = tuple(guard for guard in step.guards if not isinstance(guard, _NOT_COPIED))
    return structs.replace(at_versions(step, versions), guards=guards)


def _of_copy(change: Change, cloud: Cloud) -> Version:
    """The version of a change with the generations of the copy. Digests are the same in both."""
    found = changes.read(change.target, cloud).version
    planned = change.version.items()
    return {part: was if isinstance(was, str) else found.get(part) for part, was in planned}


def _usage(before: Facts, after: Facts) -> tuple[Usage, ...]:
    """The changes in the usage of providers."""
    old, new = _used(before), _used(after)
    changed = (key for key in old.keys() | new.keys() if old[key] != new[key])
    rows = (
        Usage(
            after.provider_names.get(uuid, uuid), name, old[uuid, name], new[uuid, name],
            _capacity(uuid, name, after),
        )
        for uuid, name in changed
    )  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (row.provider, row.resource_class)))


def _used(facts: Facts) -> Counter[tuple[str, str]]:
    used: Counter[tuple[str, str]] = Counter()
    for amounts in facts.consumers.values():
        for uuid, held in amounts.items():
            used.update({(uuid, name): amount for name, amount in held.items()})
    return used


def _capacity(uuid: str, name: str, facts: Facts) -> int:
    provider = facts.providers.get(uuid)
    inventory = provider.inventories.get(name) if provider else None
    return inventory.capacity if inventory else 0
