# SPDX-License-Identifier: Apache-2.0
"""What `heal_allocations` prints when all is decided and written, in Nova's order; its code."""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from trueup.cli.nova_manage import heal_lines as lines
from trueup.cli.nova_manage import heal_verdicts as verdicts
from trueup.cli.nova_manage.heal_verdicts import CannotHeal, Healed, Planned, Skipped, Verdict
from trueup.cli.nova_manage.output import ERROR, Output
from trueup.reconcile.facts import Instance
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.sources.nova.contract import NovaCell
from trueup.reconcile.steps import Step

(
    CODE_HEALED, CODE_MAX_REACHED, _, CODE_NOT_UPDATED, CODE_NOTHING, CODE_PORTS_NOT_READ,
    CODE_PORTS_NOT_UPDATED, CODE_PORTS_NOT_ROLLED_BACK,
) = range(8)  # fmt: skip


@dataclass(slots=True)
class Healing:
    """One run of the command: what it was asked, what it found, and what it counted."""

    arguments: argparse.Namespace
    output: Output
    planned: Planned
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    processed: int = 0
    codes: list[int] = field(default_factory=list)

    @property
    def left(self) -> int | None:
        """How many instances may still be healed; None: any number."""
        count = self.arguments.max_count
        return None if count is None or self.arguments.instance_uuid else count - self.processed

    @property
    def reached(self) -> bool:
        return self.left is not None and self.left <= 0


def print_report(healing: Healing, cells: Iterable[NovaCell]) -> int:
    """Print everything in Nova's order; the return code."""
    output, facts = healing.output, healing.planned.facts
    silent = {one.source: one.reason for one in facts.coverage.missing}
    for cell in cells:
        output.tell(lines.looking(cell.uuid, cell.name))
        if cell.name in silent:
            output.always(f"An error has occurred:\n{cell.name}: {silent[cell.name]}")
            healing.codes.append(ERROR)
            continue
        for page in _pages(healing, cell):
            _tell_page(healing, page)
        if healing.reached:
            output.tell(lines.max_reached(healing.processed))
            return healing.codes[0] if healing.codes else CODE_MAX_REACHED
    if healing.processed or not healing.codes:
        output.tell(lines.processed(healing.processed))
    if healing.codes:
        return healing.codes[0]
    return CODE_HEALED if healing.processed else CODE_NOTHING


def _pages(healing: Healing, cell: NovaCell) -> Iterator[list[Instance]]:
    """A cell's instances in Nova's batches, until --max-count is reached."""
    planned = healing.planned
    rows = verdicts.candidates(cell.uuid, planned.facts, (*planned.steps, *planned.declined))
    if wanted := healing.arguments.instance_uuid:
        rows = [row for row in rows if row.uuid == wanted]
    size = healing.left or lines.BATCH
    for start in range(0, len(rows), size):
        if healing.reached:
            return
        yield rows[start : start + size]


def _tell_page(healing: Healing, page: list[Instance]) -> None:
    healing.output.tell(lines.candidates(len(page)))
    for instance in page:
        if healing.reached and instance.uuid in healing.planned.later:
            continue
        said = verdicts.verdict(instance, healing.planned)
        for sentence in verdicts.notes(instance, said, healing.planned):
            healing.output.note(sentence)
        _tell(healing, instance, said)


def _tell(healing: Healing, instance: Instance, said: Verdict) -> None:
    output = healing.output
    match said:
        case CannotHeal(line, code):
            output.always(line)
            healing.codes.append(code)
        case Skipped(line) if healing.arguments.force and line == lines.up_to_date(instance.uuid):
            _tell_forced(healing, instance)
        case Skipped(line):
            output.tell(line)
        case Healed():
            _tell_healed(healing, instance, said)


def _tell_forced(healing: Healing, instance: Instance) -> None:
    """SAFETY: with --force Nova writes the flavor's share alone, and drops all others."""
    output, uuid = healing.output, instance.uuid
    output.tell(lines.forced(uuid))
    if healing.arguments.dry_run:
        document = lines.held_document(uuid, healing.planned.facts)
        output.tell(lines.rehearsed(uuid, False, document))
        return
    output.note(f"instance {uuid} holds what it should already; nothing was written.")
    output.tell(lines.healed(uuid, created=False))
    healing.processed += 1


def _tell_healed(healing: Healing, instance: Instance, said: Healed) -> None:
    output, uuid = healing.output, instance.uuid
    created = said.created and not healing.arguments.force
    if healing.arguments.force:
        output.tell(lines.forced(uuid))
    _tell_ports(healing, instance, said.step)
    if healing.arguments.dry_run:
        owner = said.finding.defect == verdicts.WRONG_OWNER
        document = lines.document(uuid, said.step, healing.planned.facts, owner)
        output.tell(lines.rehearsed(uuid, created, document))
        return
    outcome = healing.outcomes.get(uuid)
    if outcome is None or outcome.result != "done":
        healing.codes.append(_tell_failure(output, uuid, said.step, outcome))
        return
    for change in lines.bindings(said.step):
        output.tell(lines.port_updated(change))
    output.tell(lines.healed(uuid, created))
    healing.processed += 1


def _tell_ports(healing: Healing, instance: Instance, step: Step) -> None:
    ports = {row.id: row for row in healing.planned.facts.ports_by_device.get(instance.uuid, ())}
    for change in lines.bindings(step):
        port = ports[lines.port_of(change)]
        healing.output.tell(lines.port_mapped(change, port, instance.uuid))


def _tell_failure(output: Output, uuid: str, step: Step, outcome: Outcome | None) -> int:
    """Why a step was not written, in Nova's words, and Nova's code for that."""
    reason = outcome.reason if outcome else "its turn did not come"
    kind, _, target = outcome.target.partition(":") if outcome else ("", "", "")
    if kind != "port-binding":
        output.always(lines.not_updated(uuid, reason))
        return CODE_NOT_UPDATED
    changes = lines.bindings(step)
    for line in lines.failed_port_updates(changes, target, reason):
        output.tell(line)
    # Nova's words for a roll-back that was tried, with the ports that are still written.
    left = [one.partition(":")[2] for one in outcome.left] if outcome else []
    if ports := [one for one in map(lines.port_of, changes) if one in left]:
        output.always(lines.ports_not_rolled_back(reason, ports))
        return CODE_PORTS_NOT_ROLLED_BACK
    output.always(lines.ports_not_updated(reason))
    return CODE_PORTS_NOT_UPDATED
