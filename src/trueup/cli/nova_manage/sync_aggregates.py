# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement sync_aggregates`: providers get into the aggregates of their hosts.

As Nova's command, which only adds. It continues after a host that it cannot place, and what it
wrote is a run that `trueup undo` takes back.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from trueup.cli.nova_manage.job import Job
from trueup.cli.nova_manage.options import ERROR, PLACEMENT_SILENT
from trueup.reconcile.defects import aggregate_drift
from trueup.reconcile.facts import Facts, HostAggregate
from trueup.reconcile.report.reasons import in_words
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.steps import Aggregates, Step

(
    CODE_DONE, CODE_SEVERAL_NODES, CODE_PLACEMENT, CODE_NOT_UPDATED, CODE_NOT_MAPPED, CODE_NO_NODE,
    CODE_NO_PROVIDER,
) = range(7)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Synchronized:
    """What was read, which providers were written, and why others were not; by provider."""

    facts: Facts
    written: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)


def sync_aggregates(job: Job) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    try:
        # Ports say nothing of aggregates.
        done = _synchronized(job.without_ports())
    except Unreachable as silence:
        if silence.source != "Placement":
            raise
        job.tell(PLACEMENT_SILENT, always=True)
        return CODE_PLACEMENT
    codes: list[int] = []
    for aggregate in done.facts.host_aggregates:
        for host in aggregate.hosts:
            codes += _tell(host, aggregate, done, job)
    for status in done.facts.coverage.missing:
        job.tell(f"An error has occurred:\n{status.source}: {status.reason}", always=True)
        codes.append(ERROR)
    # PARITY: Nova ends at once with the first two, and of the others returns the last.
    ending = [code for code in codes if code in (CODE_SEVERAL_NODES, CODE_NOT_UPDATED)]
    return (ending or [max(codes, default=CODE_DONE)])[0]


def _synchronized(job: Job) -> _Synchronized:
    """Add what is missing. Raises what reading and writing a cloud raises."""
    first = job.observed()
    reasons = {row.subject.uuid: in_words(row.reason) for row in first.audit.left_alone}
    reasons |= {row.subject.uuid: in_words(row.reason) for row in first.audit.unchecked}
    found = tuple(row for row in first.audit.findings if row.defect == aggregate_drift.NAME)
    if not found:
        return _Synchronized(first.facts, reasons=reasons)
    result = job.planned(first, found, job.seconds_between(found, writes=False))
    steps = tuple(_adding(result.plan.steps))
    if steps != result.plan.steps:
        job.note(
            "some providers are in aggregates of Nova that their hosts are not in. nova-manage "
            "does not take them out, and neither does this command; 'trueup plan' does."
        )
    only = replace(result.plan, steps=steps, effects=())
    reasons |= {
        declined.finding.subject.uuid: in_words(declined.reason)
        for declined in result.plan.declined
    }
    written: set[str] = set()
    partial = [step for step in steps if step not in result.plan.steps]
    for step, outcome in job.applied(only, partial):
        reasons |= dict.fromkeys(step.subjects, in_words(outcome.reason))
        written |= step.subjects if outcome.result == "done" else set()
    return _Synchronized(result.second.facts, frozenset(written), reasons)


def _adding(steps: Iterable[Step]) -> Iterator[Step]:
    """The same steps, which take a provider out of nothing; those that add something."""
    for step in steps:
        [change] = step.changes
        if not isinstance(change.before, Aggregates) or not isinstance(change.after, Aggregates):
            continue
        every = tuple(sorted({*change.before.uuids, *change.after.uuids}))
        if every != change.before.uuids:
            kept = msgspec.structs.replace(change, after=Aggregates(every))
            yield msgspec.structs.replace(step, changes=(kept,))


def _tell(host: str, aggregate: HostAggregate, done: _Synchronized, job: Job) -> Iterator[int]:
    """Print how a host fared in an aggregate; Nova's code if it did not work."""
    facts, mapping = done.facts, done.facts.host_mapping.get(host)
    nodes = facts.nodes_by_host.get((mapping.cell, host), ()) if mapping else ()
    silent = {status.source for status in facts.coverage.missing}
    if mapping and facts.cells.get(mapping.cell) in silent:
        return
    failed = f"Failed to put host ({host}) into aggregate ({aggregate.uuid}): "
    if mapping is None:
        words = 'no host mapping was found. Run "nova-manage cell_v2 discover_hosts" and retry.'
        code = CODE_NOT_MAPPED
    elif len(nodes) > 1:
        words = f"Unexpected number of compute node records ({len(nodes)}) found for the host."
        code = CODE_SEVERAL_NODES
    elif not nodes:
        words = "no compute node record was found. Does its nova-compute need to be restarted?"
        code = CODE_NO_NODE
    elif nodes[0].uuid not in facts.providers:
        words = f"no resource provider ({nodes[0].uuid}) was found. Restart its nova-compute."
        code = CODE_NO_PROVIDER
    elif _is_in(nodes[0].uuid, aggregate, done):
        job.tell(
            f"Successfully added host ({host}) and provider ({nodes[0].uuid}) to aggregate "
            f"({aggregate.uuid})."
        )
        return
    else:
        reason = done.reasons.get(nodes[0].uuid) or "its compute node or its tree is not judged"
        words, code = f"provider ({nodes[0].uuid}): {reason}.", CODE_NOT_UPDATED
    job.tell(failed + words, always=True)
    yield code


def _is_in(provider: str, aggregate: HostAggregate, done: _Synchronized) -> bool:
    known = done.facts.providers[provider].aggregates or ()
    return provider in done.written or aggregate.uuid in known
