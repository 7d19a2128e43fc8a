# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement audit`: what consumers hold that no longer exist, or are elsewhere.

As Nova's command, but nothing of a running instance, of a move, of a boot or of another service
counts as orphaned, and a cell that is down makes no orphans. What is released is a run that `trueup
undo` takes back.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from trueup.cli.exits import explained
from trueup.cli.nova_manage.job import Job
from trueup.cli.nova_manage.options import Invalid
from trueup.reconcile.audit import Observation
from trueup.reconcile.collect.selection import Selection, SelectionUnknown
from trueup.reconcile.defects import (
    evacuation_residue,
    migration_residue,
    orphaned_allocation,
    shelved_allocation,
    wrong_provider,
)
from trueup.reconcile.facts import Facts
from trueup.reconcile.plan import LimitExceeded, Plan, refuse_too_large
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.steps import State, held_in
from trueup.reconcile.wording import counted

RELEASED = frozenset(
    {
        evacuation_residue.NAME,
        migration_residue.NAME,
        orphaned_allocation.NAME,
        shelved_allocation.NAME,
        wrong_provider.NAME,
    }
)
CODE_CLEAN, CODE_FAILED, _, CODE_FOUND, CODE_DELETED = range(5)


@dataclass(frozen=True, slots=True)
class Orphan:
    """What a consumer holds of a provider, and the id of the step that releases it."""

    provider: str
    consumer: str
    amounts: Mapping[str, int]
    step: str


def audit(job: Job) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    arguments = job.arguments
    if wanted := arguments.provider_uuid:
        job = replace(job, selection=Selection(providers=frozenset({wanted})))
    first = _observed(job)
    incomplete = _tell_gaps(first, job)
    findings = tuple(row for row in first.audit.findings if row.defect in RELEASED)
    if not findings:
        return CODE_FAILED if incomplete else CODE_CLEAN
    seconds = job.seconds_between(findings, writes=arguments.delete)
    result = job.planned(first, findings, seconds)
    outcomes: dict[str, Outcome] = {}
    if arguments.delete:
        try:
            refuse_too_large(result.plan, arguments.limit)
        except LimitExceeded as limit:
            known = explained(limit)
            assert known is not None
            job.tell(f"An error has occurred:\n{known[1]}", always=True)
            return CODE_FAILED
        outcomes = {step.id: outcome for step, outcome in job.applied(result.plan)}
    orphans = list(_orphans(result.plan, result.second.facts, arguments.provider_uuid))
    failed = _tell(orphans, outcomes, job)
    for declined in result.plan.declined:
        job.note(
            f"{declined.finding.subject.uuid} keeps what it holds: {in_words(declined.reason)}."
        )
    left = bool(result.plan.declined)
    if failed or incomplete or (arguments.delete and left):
        return CODE_FAILED
    if not (orphans or left):
        return CODE_CLEAN
    return CODE_DELETED if arguments.delete else CODE_FOUND


def refuse(arguments: argparse.Namespace) -> None:
    """Raise Invalid for an option that would be ignored, and a uuid that no provider can have."""
    for option in ("limit", "concurrency"):
        if not arguments.delete and getattr(arguments, option) is not None:
            raise Invalid(f"--{option} would be ignored without --delete.")
    if arguments.provider_uuid is None:
        return
    try:
        UUID(arguments.provider_uuid)
    except ValueError as error:
        raise Invalid(_no_provider(arguments.provider_uuid)) from error


def _observed(job: Job) -> Observation:
    """The first observation. Raises Invalid for a provider that is not there."""
    wanted = job.arguments.provider_uuid
    try:
        first = job.observed()
    except SelectionUnknown as unknown:
        raise Invalid(_no_provider(unknown.name)) from unknown
    if wanted and wanted not in first.facts.providers:
        raise Invalid(_no_provider(wanted))
    return first


def _no_provider(uuid: str) -> str:
    return f"Resource provider with UUID {uuid} does not exist."


def _orphans(plan: Plan, facts: Facts, provider: str | None) -> Iterator[Orphan]:
    """What the steps take from each consumer wholly, in the order of providers."""
    found = [
        Orphan(uuid, consumer, amounts, step.id)
        for step in plan.steps
        for change in step.changes
        for consumer, before in held_in(change.before).items()
        for uuid, amounts in (before.amounts if before else {}).items()
        if provider in (None, uuid) and not _kept(consumer, uuid, change.after)
    ]
    order = {uuid: number for number, uuid in enumerate(facts.providers)}
    yield from sorted(found, key=lambda row: (order.get(row.provider, 0), row.consumer))


def _kept(consumer: str, provider: str, after: State | None) -> bool:
    held = held_in(after).get(consumer)
    return held is not None and provider in held.amounts


def _tell(orphans: Iterable[Orphan], outcomes: Mapping[str, Outcome], job: Job) -> bool:
    """Print a line for each; whether something could not be released."""
    number, failed = 0, False
    for orphan in orphans:
        what = (
            f"llocations for consumer UUID {orphan.consumer} on Resource Provider {orphan.provider}"
        )
        outcome = outcomes.get(orphan.step)
        if not job.arguments.delete:
            job.tell(f"A{what} can be deleted: {dict(orphan.amounts)}")
        elif outcome and outcome.result == "done":
            job.tell(f"Deleted a{what}: {dict(orphan.amounts)}")
        else:
            reason = in_words(outcome.reason) if outcome else "its turn did not come"
            job.tell(f"Not able to delete a{what}: {reason}", always=True)
            failed = True
            continue
        number += 1
    if number:
        job.tell(f"Processed {counted(number, 'allocation')}.")
    return failed


def _tell_gaps(first: Observation, job: Job) -> bool:
    """Say what was not judged, and what is left alone; whether the evidence is incomplete."""
    facts = first.facts
    coverage = first.audit.coverage
    for status in coverage.missing:
        job.note(
            f"{status.source} does not answer: {status.reason}. What it may know is left alone."
        )
    for status in coverage.behind:
        job.note(f"{status.source}: {in_words(status.lag)}. What it may know is left alone.")
    for status in coverage.damaged:
        words = f"{counted(status.lost_rows, 'row')} cannot be read"
        job.note(f"{status.source}: {words}. What they may say is left alone.")
    rows = [(row.subject.uuid, row.reason) for row in first.audit.left_alone]
    rows += [(row.subject.uuid, row.reason) for row in first.audit.unchecked]
    for uuid, reason in sorted(row for row in rows if row[0] in facts.consumers):
        job.note(f"{uuid} keeps what it holds: {in_words(reason)}.")
    hosts = [row for row in first.audit.unchecked if row.subject.kind == "host"]
    for host in hosts:
        job.note(f"{host.subject}: {in_words(host.reason)}.")
    unchecked = any(row.subject.uuid in facts.consumers for row in first.audit.unchecked)
    return unchecked or bool(hosts) or not coverage.complete
