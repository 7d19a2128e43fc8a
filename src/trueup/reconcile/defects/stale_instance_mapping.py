# SPDX-License-Identifier: Apache-2.0
"""Stale instance mapping: an instance is not in the cell where Nova's API looks, or is in two.

Without a mapping, Nova's API looks in no cell. Nova makes the mapping before the first row of an
instance, and deletes it with the last row.

The cause is a restored database, or a resize across cells that was repaired by hand. Until the
repair, the claim of the instance is not judged: it is not known which row is right.
"""

from collections.abc import Iterator
from datetime import timedelta

from trueup.reconcile.facts import Facts, Instance, InstanceRecord
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.rules.residence import InMotion, residence
from trueup.reconcile.steps import Step
from trueup.reconcile.verdicts import (
    AuditOptions,
    Finding,
    Need,
    Scope,
    Severity,
    Structure,
    Subject,
    Verdict,
)

# Nova makes an instance in a cell, and maps it in the next requests.
_MAPPING_SECONDS = 10

NAME = "stale-instance-mapping"
TITLE = "The rows and the mapping of an instance name different cells, or it has no mapping"
REMEDY = "None by Trueup, which never writes to Nova's databases"
SEVERITIES = (Severity.HIGH,)
NEEDS = (Need.INSTANCE_MAPPINGS, Need.COMPLETE)
SCOPE = Scope.SELECTION


def find(facts: Facts, options: AuditOptions) -> Iterator[Verdict]:
    """Settled instances in several cells, in another cell than their mapping's, or unmapped."""
    # PERF: the whole record is made only for instances whose sources disagree.
    for instance in filter(lambda row: _disagrees(row, facts), facts.alive.values()):
        record = facts.record(instance.uuid)
        if not isinstance(residence(instance, record, facts), InMotion):
            yield _finding(instance, record, facts)


def remedy(finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """None: Trueup never writes to Nova's databases."""
    record = facts.record(finding.subject.uuid)
    if len(record.living) > 1:
        return because("find-copied-row")
    [row] = record.living
    run = because("map-instances", cell=row.cell)
    if record.mapping is None:
        return run
    return because("remap-instance", run)


def _disagrees(instance: Instance, facts: Facts) -> bool:
    mapping = facts.mappings.get(instance.uuid)
    living = [row for row in facts.instance_rows[instance.uuid] if not row.deleted]
    return len(living) > 1 or mapping is None or mapping.cell != instance.cell


def _finding(instance: Instance, record: InstanceRecord, facts: Facts) -> Finding:
    mapped = record.mapping.cell if record.mapping else None
    made = instance.created_at
    just_made = made is not None and facts.taken_at - made < timedelta(minutes=1)
    return Finding(
        NAME,
        Subject("instance", instance.uuid),
        instance.host or "",
        Severity.HIGH,
        {
            "rows": tuple(_row(row, facts) for row in record.living),
            "mapped_to": facts.cells.get(mapped or "", mapped or "no cell"),
        },
        may_pass_within=_MAPPING_SECONDS if just_made else 0,
    )


def _row(row: Instance, facts: Facts) -> Structure:
    cell = facts.cells[row.cell]
    return {"name": row.name, "cell": cell, "host": row.host, "vm_state": row.vm_state}
