# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement heal_allocations`: instances get back what they should hold.

As Nova's command, but it continues after an instance that cannot be healed, heals whole
allocations, and writes them as steps of a run that `trueup undo` takes back.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace

from trueup.cli.nova_manage import heal_lines as lines
from trueup.cli.nova_manage import heal_verdicts as verdicts
from trueup.cli.nova_manage.heal_report import (
    CODE_NOT_UPDATED,
    CODE_NOTHING,
    CODE_PORTS_NOT_READ,
    Healing,
    print_report,
)
from trueup.cli.nova_manage.heal_verdicts import Planned
from trueup.cli.nova_manage.output import Invalid, Output
from trueup.cli.nova_manage.writing import Writing, confirmed, interval_of, observed, pace_of
from trueup.reconcile.audit import Observation
from trueup.reconcile.collect import with_holdings
from trueup.reconcile.collect.selection import EVERYTHING, Selection, SelectionUnknown
from trueup.reconcile.facts import NEUTRON, Facts
from trueup.reconcile.plan import Plan, refuse_too_large
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.sources.nova.contract import NovaCell
from trueup.reconcile.steps import releases
from trueup.reconcile.verdicts import AuditOptions, Finding

CELL_ZERO = "00000000-0000-0000-0000-000000000000"


def heal_allocations(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions, output: Output
) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    arguments.max_count = _count(arguments)
    if arguments.max_count is None and not arguments.instance_uuid:
        output.tell(lines.RUNNING)
    if arguments.skip_port_allocations:
        cloud, options = replace(cloud, neutron=None), replace(options, without_ports=True)
    cells = _cells(arguments, cloud)
    if not cells:
        output.tell(lines.NO_CELLS)
        return CODE_NOTHING
    try:
        first = _observed(arguments, cloud, options)
    except Unreachable as silence:
        if silence.source != "Placement":
            raise
        output.always(lines.PLACEMENT_SILENT)
        output.note(f"{silence.reason}.")
        return CODE_NOT_UPDATED
    if first is None:
        return _nobody(cells, output)
    cells = [cell for cell in cells if cell.uuid != CELL_ZERO]
    if silent := _neutron_silent(first.facts):
        return _without_neutron(cells, first.facts, silent, output)
    _refuse_other_ports(arguments, first.facts)
    planned, written = _planned(arguments, cloud, options, first, cells)
    if written is not None and not arguments.dry_run:
        _refuse_too_large(written, arguments.limit)
    healing = Healing(arguments, output, planned)
    if written is not None and not arguments.dry_run:
        healing.outcomes = _written(written, cloud, arguments, output)
    return print_report(healing, cells)


def refuse(arguments: argparse.Namespace) -> None:
    """Raise Invalid for options that contradict each other, as Nova does."""
    if arguments.instance_uuid and arguments.cell_uuid:
        raise Invalid(lines.EXCLUSIVE)
    if arguments.force and not arguments.instance_uuid:
        raise Invalid(lines.FORCE_NEEDS_INSTANCE)
    if arguments.skip_port_allocations and arguments.port_provider:
        raise Invalid("--port-provider would be ignored with --skip-port-allocations.")
    if arguments.dry_run and arguments.concurrency is not None:
        raise Invalid("--concurrency would be ignored with --dry-run.")
    _count(arguments)


def _refuse_other_ports(arguments: argparse.Namespace, facts: Facts) -> None:
    """Raise Invalid if a provider is chosen for a port that no instance to heal has."""
    known = {row.id for rows in facts.ports_by_device.values() for row in rows}
    for port, _ in arguments.port_provider:
        if port not in known:
            raise Invalid(
                f"Port {port} of --port-provider is attached to none of the instances; nothing "
                "was written."
            )


def _count(arguments: argparse.Namespace) -> int | None:
    """--max-count as a number; it has no effect beside --instance."""
    if arguments.instance_uuid or arguments.max_count is None:
        return None
    try:
        count = int(arguments.max_count)
    except ValueError:
        count = 0
    if count < 1:
        raise Invalid(lines.COUNT_NOT_POSITIVE)
    return count


def _cells(arguments: argparse.Namespace, cloud: Cloud) -> list[NovaCell]:
    """The cells to look into, in Nova's order. Raises Invalid."""
    every = cloud.nova.cells()
    if wanted := arguments.instance_uuid:
        mappings = cloud.nova.registry(every, [wanted]).instance_mappings
        mapped = {row.cell for row in mappings if row.instance == wanted}
        found = [cell for cell in every if cell.uuid in mapped]
        if not found:
            raise Invalid(lines.not_mapped(wanted))
        return found
    if wanted := arguments.cell_uuid:
        found = [cell for cell in every if cell.uuid == wanted]
        if not found:
            raise Invalid(lines.no_cell(wanted))
        return found
    return list(every)


def _observed(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions
) -> Observation | None:
    """The first observation; None if the named instance is in no database."""
    try:
        return observed(cloud, options, _selection(arguments), owners=True)
    except SelectionUnknown:
        return None


def _selection(arguments: argparse.Namespace) -> Selection:
    if arguments.instance_uuid:
        return Selection(instances=frozenset({arguments.instance_uuid}))
    if arguments.cell_uuid:
        return Selection(cells=frozenset({arguments.cell_uuid}))
    return EVERYTHING


def _nobody(cells: Iterable[NovaCell], output: Output) -> int:
    for cell in cells:
        if cell.uuid != CELL_ZERO:
            output.tell(lines.looking(cell.uuid, cell.name))
    output.tell(lines.processed(0))
    return CODE_NOTHING


def _neutron_silent(facts: Facts) -> str:
    """Why Neutron did not answer; empty if it did, or there is none."""
    silent = [one.reason for one in facts.coverage.missing if one.source == NEUTRON]
    return silent[0] if silent else ""


def _without_neutron(cells: Iterable[NovaCell], facts: Facts, reason: str, output: Output) -> int:
    """PARITY: without Neutron nothing is healed, and the first instance is named."""
    for cell in cells:
        output.tell(lines.looking(cell.uuid, cell.name))
        rows = verdicts.candidates(cell.uuid, facts, ())
        if rows:
            output.tell(lines.candidates(min(len(rows), lines.BATCH)))
        for row in rows:
            if row.task_state is None and row.node is not None:
                output.always(lines.ports_not_read(row.uuid, reason))
                return CODE_PORTS_NOT_READ
    output.tell(lines.processed(0))
    return CODE_NOTHING


def _planned(
    arguments: argparse.Namespace,
    cloud: Cloud,
    options: AuditOptions,
    first: Observation,
    cells: Iterable[NovaCell],
) -> tuple[Planned, Plan | None]:
    """What both observations confirm, as steps by instance; and the plan."""
    findings, later = _to_heal(arguments, first, cells)
    if not findings:
        # PERF: other facts would be judged again.
        if not arguments.force:
            return Planned(first.facts), None
        return Planned(with_holdings(first.facts, cloud, [arguments.instance_uuid])), None
    seconds = interval_of(arguments, findings, writes=not arguments.dry_run)
    where = (cloud, options, _selection(arguments))
    result = confirmed(where, first, findings, seconds, owners=True)
    by_id = {one.id: one for one in result.plan.findings}
    steps = {
        by_id[reason].subject.uuid: (by_id[reason], step)
        for step in result.plan.steps
        for reason in step.because
    }
    declined = {one.finding.subject.uuid: one.reason for one in result.plan.declined}
    return Planned(result.second.facts, steps, declined, later), result.plan


def _to_heal(
    arguments: argparse.Namespace, first: Observation, cells: Iterable[NovaCell]
) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """The findings to heal; with --max-count, those of as many instances, the oldest first.

    And the instances for which that leaves no room.
    """
    found = [
        row
        for row in first.audit.findings
        if row.defect in verdicts.HEALED and row.subject.kind == "instance"
    ]
    uuids = {row.subject.uuid for row in found}
    oldest = [
        row.uuid
        for cell in cells
        for row in verdicts.candidates(cell.uuid, first.facts, uuids)
        if row.uuid in uuids
    ]
    limited = None if arguments.dry_run else arguments.max_count
    wanted = frozenset(oldest[:limited])
    rows = tuple(row for row in found if row.subject.uuid in wanted)
    return rows, frozenset(oldest) - wanted


def _refuse_too_large(plan: Plan, limit: int | None) -> None:
    """Raise LimitExceeded if more instances than that would hold less of something.

    What only adds is not limited, as in Nova's command.
    """
    releasing = tuple(step for step in plan.steps if releases(step))
    refuse_too_large(replace(plan, steps=releasing), limit)


def _written(
    planned: Plan, cloud: Cloud, arguments: argparse.Namespace, output: Output
) -> dict[str, Outcome]:
    """Apply the plan; how the step of each instance ended."""
    writing = Writing(cloud, arguments.state_dir, pace_of(arguments), output)
    outcomes = writing.apply(planned)
    by_id = {one.id: one for one in planned.findings}
    return {
        by_id[reason].subject.uuid: outcome
        for step, outcome in outcomes
        for reason in step.because
        if reason in by_id
    }
