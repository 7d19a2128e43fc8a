# SPDX-License-Identifier: Apache-2.0
"""Audit: facts → what is wrong, what could not be checked, what was left alone. Pure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from trueup.reconcile.defects import DEFECTS
from trueup.reconcile.facts import Coverage, Facts
from trueup.reconcile.findings import Finding, LeftAlone, Unchecked
from trueup.reconcile.residence import InMotion, Undetermined, provider_of, residence
from trueup.reconcile.rules import Rules


@dataclass(eq=False)
class LookUnusable(Exception):
    """The file of a kept audit cannot be read or written."""

    path: str
    reason: str


@dataclass(eq=False)
class SecondLookMissing(Exception):
    """A snapshot is one look, and none was named that is at least so many seconds older."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything one look at a cloud says, in a fixed order."""

    taken_at: datetime
    coverage: Coverage
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    left_alone: tuple[LeftAlone, ...]

    @property
    def incomplete(self) -> bool:
        """Whether the evidence leaves something open: a silent source, or a subject not checked."""
        return not self.coverage.complete or bool(self.unchecked)


def audit(facts: Facts, rules: Rules) -> Audit:
    """Ask every defect."""
    verdicts = [verdict for defect in DEFECTS for verdict in defect.find(facts, rules)]
    return Audit(
        taken_at=facts.taken_at,
        coverage=facts.coverage,
        findings=tuple(row for row in verdicts if isinstance(row, Finding)),
        unchecked=(
            *_untold_hosts(facts),
            *_homeless(facts),
            *(row for row in verdicts if isinstance(row, Unchecked)),
        ),
        left_alone=(
            *_in_motion(facts),
            *_strangers(facts),
            *(row for row in verdicts if isinstance(row, LeftAlone)),
        ),
    )


def seen_twice(first: Audit, second: Audit) -> tuple[Finding, ...]:
    """The findings of the second look that the first look had too, with the same evidence.

    SAFETY: what is there at two moments is drift; what is there at one may be a move under way.
    """
    before = {finding.id: finding for finding in first.findings}
    return tuple(finding for finding in second.findings if before.get(finding.id) == finding)


def _untold_hosts(facts: Facts) -> Iterator[Unchecked]:
    instances = Counter((row.cell, row.host, row.node) for row in facts.alive.values())
    for node in sorted(
        facts.compute_nodes, key=lambda row: (facts.cells[row.cell], row.host, row.node)
    ):
        if facts.hosts_in_scope is not None and node.host not in facts.hosts_in_scope:
            continue
        provider = provider_of(node, facts)
        if isinstance(provider, Undetermined):
            count = instances[node.cell, node.host, node.node]
            yield Unchecked(
                f"host {node.host}",
                facts.cells[node.cell],
                f"{provider.reason}; {count} instances on it were not checked",
            )


def _homeless(facts: Facts) -> Iterator[Unchecked]:
    """Instances whose compute node is not there, or not the only one."""
    for uuid, instance in sorted(facts.alive.items()):
        place = residence(instance, facts)
        known = facts.nodes_by_place.get(
            (instance.cell, instance.host or "", instance.node or ""), ()
        )
        if isinstance(place, Undetermined) and len(known) != 1:
            yield Unchecked(f"instance {uuid}", instance.host or "", place.reason)


def _in_motion(facts: Facts) -> Iterator[LeftAlone]:
    for uuid, instance in sorted(facts.alive.items()):
        place = residence(instance, facts)
        if isinstance(place, InMotion):
            yield LeftAlone(f"instance {uuid}", instance.host or "", place.reason)


def _strangers(facts: Facts) -> Iterator[LeftAlone]:
    """Consumers that are no instance: another service's, a boot, the source of a move."""
    moves = {row.uuid: row for row in facts.migrations}
    for consumer in sorted(facts.consumers.keys() - facts.alive.keys() - facts.deleted.keys()):
        if consumer in facts.builds:
            reason = "it has a build request"
        elif move := moves.get(consumer):
            reason = (
                "it holds the source of a migration under way"
                if move.under_way
                else f"it is of a {move.kind} that is {move.status}"
            )
        else:
            reason = "no instance in any cell that answered has its uuid; its owner is not known"
        names = (facts.providers[uuid].name for uuid in facts.consumers[consumer])
        yield LeftAlone(f"consumer {consumer}", ", ".join(sorted(names)), reason)


def save(result: Audit, path: Path) -> None:
    """Keep one look in a file. Raises LookUnusable."""
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    except OSError as error:
        raise LookUnusable(str(path), error.strerror or str(error)) from error


def load(path: Path) -> Audit:
    """A look that was kept. Raises LookUnusable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Audit)
    except OSError as error:
        raise LookUnusable(str(path), error.strerror or str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LookUnusable(str(path), f"it is not an audit ({error})") from error
