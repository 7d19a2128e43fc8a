# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement heal_allocations`: instances get back what they should hold.

As Nova's command, but it continues after an instance that cannot be healed, heals whole
allocations, and writes them as steps of a run that `trueup undo` takes back.
"""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from trueup.cli.nova_manage.instance_lines import (
    CODE_NOT_UPDATED,
    HEALED,
    Healing,
    neutron_silent,
    told,
)
from trueup.cli.nova_manage.job import Job
from trueup.cli.nova_manage.options import ERROR, PLACEMENT_SILENT, Invalid
from trueup.reconcile.collect.selection import EVERYTHING, Selection, SelectionUnknown
from trueup.reconcile.defects import wrong_owner
from trueup.reconcile.facts import Facts, Instance
from trueup.reconcile.plan import CELL_ZERO, Remedy, refuse_too_large, remedy_of_defect
from trueup.reconcile.reasons import Reason
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.runs.journal import Outcome, StepOutcome
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.contract import NovaCell
from trueup.reconcile.steps import Held, Step, releases
from trueup.reconcile.verdicts import Finding

CODE_HEALED, CODE_MAX_REACHED, CODE_NOTHING = 0, 1, 4


def heal_allocations(job: Job) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    arguments = job.arguments
    arguments.max_count = _count(arguments)
    if arguments.skip_port_allocations:
        job = job.without_ports()
    cells = _cells(arguments, job.cloud)
    job = replace(job, selection=_selection(arguments), owners=True)
    try:
        healing = _healing(job, cells)
    except SelectionUnknown:
        # The named instance is in no database any more.
        job.tell("Processed 0 instances.")
        return CODE_NOTHING
    except Unreachable as silence:
        if silence.source != "Placement":
            raise
        job.tell(PLACEMENT_SILENT, always=True)
        job.note(f"{silence.reason}.")
        return CODE_NOT_UPDATED
    return _tell(job, healing, cells)


def refuse(arguments: argparse.Namespace) -> None:
    """Raise Invalid for options that contradict each other, as Nova does."""
    if arguments.instance_uuid and arguments.cell_uuid:
        raise Invalid("The --cell and --instance options are mutually exclusive.")
    if arguments.force and not arguments.instance_uuid:
        raise Invalid("The --instance flag is required when using --force flag.")
    if arguments.skip_port_allocations and arguments.port_provider:
        raise Invalid("--port-provider would be ignored with --skip-port-allocations.")
    if arguments.dry_run and arguments.concurrency is not None:
        raise Invalid("--concurrency would be ignored with --dry-run.")
    _count(arguments)


def _count(arguments: argparse.Namespace) -> int | None:
    """--max-count as a number; it has no effect beside --instance."""
    if arguments.instance_uuid or arguments.max_count is None:
        return None
    text = str(arguments.max_count)
    if not text.isdecimal() or int(text) < 1:
        raise Invalid("Must supply a positive integer for --max-count.")
    return int(text)


def _cells(arguments: argparse.Namespace, cloud: Cloud) -> list[NovaCell]:
    """The cells to look into, in Nova's order. Raises Invalid."""
    every = cloud.nova.cells()
    if wanted := arguments.instance_uuid:
        rows = cloud.nova.registry(every, [wanted]).instance_mappings
        mapped = {row.cell for row in rows if row.instance == wanted}
        if not any(cell.uuid in mapped for cell in every):
            raise Invalid(
                f"Unable to find cell for instance {wanted}, is it mapped? Try running "
                '"nova-manage cell_v2 verify_instance" or "nova-manage cell_v2 map_instances".'
            )
    elif wanted := arguments.cell_uuid:
        mapped = {wanted}
        if not any(cell.uuid == wanted for cell in every):
            raise Invalid(f"Cell with uuid {wanted} was not found.")
    else:
        mapped = {cell.uuid for cell in every}
    return [cell for cell in every if cell.uuid in mapped and cell.uuid != CELL_ZERO]


def _selection(arguments: argparse.Namespace) -> Selection:
    if arguments.instance_uuid:
        return Selection(instances=frozenset({arguments.instance_uuid}))
    if arguments.cell_uuid:
        return Selection(cells=frozenset({arguments.cell_uuid}))
    return EVERYTHING


def _healing(job: Job, cells: Iterable[NovaCell]) -> Healing:
    """Plan what two observations confirm, and write it; what became of each instance.

    Raises LimitExceeded if more instances than that would hold less of something: what only adds
    is not limited, as in Nova's command.
    """
    arguments, first = job.arguments, job.observed()
    empty = Healing(first.facts, writes=not arguments.dry_run, forced=arguments.force)
    # PARITY: without Neutron, nothing is healed.
    if neutron_silent(first.facts):
        return empty
    _refuse_foreign_ports(arguments, first.facts)
    findings, later = _to_heal(arguments, first.audit.findings, first.facts, cells)
    if not findings:
        return empty
    seconds = job.seconds_between(findings, writes=empty.writes)
    result = job.planned(first, findings, seconds, _with_owner(findings))
    subjects = {finding.id: finding.subject.uuid for finding in result.plan.findings}
    steps = {subjects[reason]: step for step in result.plan.steps for reason in step.because}
    declined = {
        declined.finding.subject.uuid: in_words(declined.reason)
        for declined in result.plan.declined
    }
    planned = replace(empty, facts=result.second.facts, steps=steps, declined=declined, later=later)
    if not planned.writes:
        return planned
    releasing = tuple(step for step in result.plan.steps if releases(step))
    refuse_too_large(replace(result.plan, steps=releasing), arguments.limit)
    return replace(planned, outcomes=_ended(job.applied(result.plan), subjects))


def _refuse_foreign_ports(arguments: argparse.Namespace, facts: Facts) -> None:
    """Raise Invalid for a --port-provider of a port that no selected instance has, or that requests
    nothing."""
    known = {port.id for rows in facts.ports_by_device.values() for port in rows}
    for port, _ in arguments.port_provider:
        if port not in known:
            raise Invalid(
                f"Port {port} of --port-provider is attached to none of the instances, or requests "
                "no resources; nothing was written."
            )


def _to_heal(
    arguments: argparse.Namespace,
    found: Iterable[Finding],
    facts: Facts,
    cells: Iterable[NovaCell],
) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """The findings to heal; with --max-count, those of as many instances, the oldest first.

    And the instances for which that leaves no room.
    """
    rows = [row for row in found if row.defect in HEALED and row.subject.kind == "instance"]
    uuids = {row.subject.uuid for row in rows}
    every = (row.uuid for cell in cells for row in _candidates(cell.uuid, facts, uuids))
    oldest = [uuid for uuid in every if uuid in uuids]
    wanted = frozenset(oldest[: None if arguments.dry_run else arguments.max_count])
    return tuple(row for row in rows if row.subject.uuid in wanted), frozenset(oldest) - wanted


def _candidates(cell: str, facts: Facts, found: Iterable[str]) -> list[Instance]:
    """The instances of a cell that Nova looks at, the oldest first.

    Nova leaves out soft-deleted instances, which keep what they hold. One that has lost it is
    among ours: `found` are the instances with findings.
    """
    wanted = frozenset(found)
    rows = [
        row
        for row in facts.instances
        if row.cell == cell and not (row.deleted or row.hidden or row.archived)
    ]
    seen = [row for row in rows if not row.soft_deleted or row.uuid in wanted]
    return sorted(seen, key=lambda row: (row.created_at is not None, row.created_at))


def _with_owner(findings: Iterable[Finding]) -> Remedy:
    """PARITY: Nova corrects the owner by the same write that adds what is missing."""
    owners = {
        finding.subject.uuid: finding for finding in findings if finding.defect == wrong_owner.NAME
    }

    def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
        steps = remedy_of_defect(finding, facts)
        owner = owners.get(finding.subject.uuid)
        if owner is None or owner.id == finding.id or isinstance(steps, Reason):
            return steps
        return tuple(_owned(step, facts.alive[finding.subject.uuid]) for step in steps)

    return remedy


def _owned(step: Step, instance: Instance) -> Step:
    """The same step, which leaves what the instance holds to its own project and user."""

    def held(after: Held) -> Held:
        kept = after.by_consumer[instance.uuid]
        mine = kept and replace(kept, project=instance.project, user=instance.user)
        return Held({**after.by_consumer, instance.uuid: mine})

    owned = (
        msgspec.structs.replace(change, after=held(change.after))
        if isinstance(change.after, Held) and instance.uuid in change.after.by_consumer
        else change
        for change in step.changes
    )
    return msgspec.structs.replace(step, changes=tuple(owned))


def _ended(outcomes: Iterable[StepOutcome], subjects: Mapping[str, str]) -> dict[str, Outcome]:
    """How the step of each instance ended; of several, the one that failed."""
    ended: dict[str, Outcome] = {}
    for step, outcome in outcomes:
        for uuid in (subjects[reason] for reason in step.because if reason in subjects):
            if uuid not in ended or outcome.result != "done":
                ended[uuid] = outcome
    return ended


def _tell(job: Job, healing: Healing, cells: Iterable[NovaCell]) -> int:
    """Print a line for each instance; the return code, which is that of the first failure."""
    silent = {status.source: status.reason for status in healing.facts.coverage.missing}
    codes: list[int] = []
    healed = 0
    for cell in cells:
        if cell.name in silent:
            job.tell(f"An error has occurred:\n{cell.name}: {silent[cell.name]}", always=True)
            codes.append(ERROR)
            continue
        rows = _candidates(cell.uuid, healing.facts, {*healing.steps, *healing.declined})
        job.tell(f"Found {len(rows)} candidate instances.")
        for line in (told(row, healing) for row in rows if row.uuid not in healing.later):
            job.tell(line.line, always=line.always or line.code is not None)
            codes += [line.code] if line.code else []
            healed += line.healed
    most = job.arguments.max_count
    reached = most is not None and healed >= most
    job.tell(f"{'Max count reached. ' if reached else ''}Processed {healed} instances.")
    ending = CODE_MAX_REACHED if reached else CODE_HEALED if healed else CODE_NOTHING
    return codes[0] if codes else ending
