# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement audit`: what consumers hold that no longer exist, or are elsewhere.

As Nova's command, but nothing of a running instance, of a move, of a boot or of another service
counts as orphaned, and a cell that is down makes no orphans. What is released is a run that `trueup
undo` takes back.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from trueup.cli.exits import explained
from trueup.cli.nova_manage.output import ERROR, Invalid, Output
from trueup.cli.nova_manage.writing import Writing, confirmed, interval_of, observed, pace_of
from trueup.reconcile.audit import Observation
from trueup.reconcile.collect.selection import EVERYTHING, Selection, SelectionUnknown
from trueup.reconcile.defects import (
    evacuation_residue,
    migration_residue,
    orphaned_allocation,
    shelved_allocation,
    wrong_provider,
)
from trueup.reconcile.facts import Coverage, Facts
from trueup.reconcile.plan import LimitExceeded, Plan, refuse_too_large
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import State, Step, held_in
from trueup.reconcile.verdicts import AuditOptions
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
_AFTER = "but no existing instances or active migrations are related. "


@dataclass(frozen=True, slots=True)
class Orphan:
    """What a consumer holds of a provider, and the step that releases it."""

    provider: str
    consumer: str
    amounts: Mapping[str, int]
    step: Step


def audit(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions, output: Output
) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    first = _observed(arguments, cloud, options)
    plan, facts = _planned(arguments, cloud, options, first)
    _tell_differences(first, output)
    orphans = list(_orphans(plan, facts, arguments.provider_uuid))
    failed = _silent(first.audit.coverage, output)
    results = dict.fromkeys((step.id for step in plan.steps), "") if plan else {}
    if plan and arguments.delete:
        try:
            refuse_too_large(plan, arguments.limit)
        except LimitExceeded as limit:
            return _refused(limit, output)
        results = _released(plan, cloud, arguments, output)
    failed |= _tell(orphans, facts, arguments, results, output)
    if failed:
        return CODE_FAILED
    if not orphans:
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


def _observed(arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions) -> Observation:
    """The first observation. Raises Invalid for a provider that is not there."""
    try:
        first = observed(cloud, options, _selection(arguments))
    except SelectionUnknown as unknown:
        raise Invalid(_no_provider(unknown.name)) from unknown
    wanted = arguments.provider_uuid
    if wanted and wanted not in first.facts.providers:
        raise Invalid(_no_provider(wanted))
    return first


def _selection(arguments: argparse.Namespace) -> Selection:
    wanted = arguments.provider_uuid
    return Selection(providers=frozenset({wanted})) if wanted else EVERYTHING


def _no_provider(uuid: str) -> str:
    return f"Resource provider with UUID {uuid} does not exist."


def _planned(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions, first: Observation
) -> tuple[Plan | None, Facts]:
    """The steps that release what two observations found, and the facts of the second."""
    findings = tuple(row for row in first.audit.findings if row.defect in RELEASED)
    if not findings:
        return None, first.facts
    seconds = interval_of(arguments, findings, writes=arguments.delete)
    result = confirmed((cloud, options, _selection(arguments)), first, findings, seconds)
    return result.plan, result.second.facts


def _orphans(plan: Plan | None, facts: Facts, provider: str | None) -> Iterator[Orphan]:
    """What the steps take from each consumer wholly, in the order of providers."""
    found = [
        Orphan(uuid, consumer, amounts, step)
        for step in (plan.steps if plan else ())
        for change in step.changes
        for consumer, before in held_in(change.before).items()
        for uuid, amounts in (before.amounts if before else {}).items()
        if not _kept(consumer, uuid, change.after)
    ]
    order = {uuid: number for number, uuid in enumerate(facts.providers)}
    for one in sorted(found, key=lambda row: (order.get(row.provider, 0), row.consumer)):
        if provider in (None, one.provider):
            yield one


def _kept(consumer: str, provider: str, after: State | None) -> bool:
    held = held_in(after).get(consumer)
    return held is not None and provider in held.amounts


def _released(
    plan: Plan, cloud: Cloud, arguments: argparse.Namespace, output: Output
) -> dict[str, str]:
    """Apply the plan; how each step ended."""
    writing = Writing(cloud, arguments.state_dir, pace_of(arguments), output)
    return {step.id: outcome.result for step, outcome in writing.apply(plan)}


def _tell(
    orphans: Iterable[Orphan],
    facts: Facts,
    arguments: argparse.Namespace,
    results: Mapping[str, str],
    output: Output,
) -> bool:
    """Print Nova's lines; whether something could not be released."""
    number, failed = 0, list[str]()
    reported = list(orphans)
    for uuid in _audited(facts, arguments.provider_uuid):
        if facts.providers[uuid].root not in facts.nodes_by_uuid:
            output.tell(f"The compute node for UUID {facts.providers[uuid].root} can not be found")
        for one in (row for row in reported if row.provider == uuid):
            output.tell(f"Allocations were set against consumer UUID {one.consumer} {_AFTER}")
            what = f"llocations for consumer UUID {one.consumer} on Resource Provider {uuid}"
            if not arguments.delete:
                output.tell(f"A{what} can be deleted: {dict(one.amounts)}")
            elif results.get(one.step.id) == "done":
                output.tell(f"Deleted a{what}: {dict(one.amounts)}")
            else:
                output.always(f"Not able to delete allocations for consumer UUID {one.consumer}")
                failed += [uuid] if uuid not in failed else []
                continue
            number += 1
    for uuid in failed:
        output.always(
            f"The Resource Provider {uuid} had problems when deleting allocations. Stopping now. "
            "Please fix the problem by hand and run again."
        )
    if number and not failed:
        output.tell(f"Processed {counted(number, 'allocation')}.")
    return bool(failed)


def _audited(facts: Facts, provider: str | None) -> list[str]:
    return [provider] if provider else list(facts.providers)


def _silent(coverage: Coverage, output: Output) -> bool:
    """Say which sources did not answer, or not whole and not of now; whether there are any."""
    for one in coverage.missing:
        output.note(
            f"{one.source} does not answer: {one.reason}. nova-manage takes all allocations of a "
            "cell that is down for orphaned; here nothing is released that it may know."
        )
    for one in coverage.behind:
        output.note(f"{one.source}: {one.behind}. Nothing is released that it may know.")
    for one in coverage.damaged:
        words = counted(one.lost_rows, "row")
        output.note(f"{one.source}: {words} cannot be read. Nothing is released that it may know.")
    return not coverage.complete


def _tell_differences(first: Observation, output: Output) -> None:
    """What holds something, and is left alone although Nova may take it for orphaned."""
    holders = first.facts.consumers
    rows = [(row.subject.uuid, row.reason) for row in first.audit.left_alone]
    rows += [(row.subject.uuid, row.reason) for row in first.audit.unchecked]
    for uuid, reason in sorted(row for row in rows if row[0] in holders):
        output.note(f"{uuid} keeps what it holds: {reason}.")


def _refused(limit: LimitExceeded, output: Output) -> int:
    known = explained(limit)
    output.always(f"An error has occurred:\n{known[1] if known else limit}")
    return CODE_FAILED if known else ERROR
