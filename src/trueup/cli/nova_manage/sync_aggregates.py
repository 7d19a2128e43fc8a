# SPDX-License-Identifier: Apache-2.0
"""`nova-manage placement sync_aggregates`: providers get into the aggregates of their hosts.

As Nova's command, which only adds. It continues after a host that it cannot place, and what it
wrote is a run that `trueup undo` takes back.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from trueup.cli.nova_manage.heal_lines import PLACEMENT_SILENT
from trueup.cli.nova_manage.output import ERROR, Output
from trueup.cli.nova_manage.writing import ADDING_SECONDS, Writing, confirmed, observed, pace_of
from trueup.reconcile.collect.selection import EVERYTHING
from trueup.reconcile.defects import aggregate_drift
from trueup.reconcile.facts import Facts, HostAggregate
from trueup.reconcile.plan import Plan
from trueup.reconcile.runs.journal import Outcome
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.sources.errors import Unreachable
from trueup.reconcile.steps import Aggregates, Step
from trueup.reconcile.verdicts import AuditOptions

(
    CODE_DONE, CODE_SEVERAL_NODES, CODE_PLACEMENT, CODE_NOT_UPDATED, CODE_NOT_MAPPED, CODE_NO_NODE,
    CODE_NO_PROVIDER,
) = range(7)  # fmt: skip


@dataclass(slots=True)
class _Missing:
    """What was not found, by host; reported at the end, as Nova does."""

    mappings: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    providers: dict[str, str] = field(default_factory=dict)


def sync_aggregates(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions, output: Output
) -> int:
    """Run the command; its return code. Raises what reading and writing a cloud raises."""
    try:
        facts, outcomes = _synchronized(arguments, cloud, options, output)
    except Unreachable as silence:
        if silence.source != "Placement":
            raise
        output.always(PLACEMENT_SILENT)
        return CODE_PLACEMENT
    output.tell("Filling in missing placement aggregates")
    codes: list[int] = []
    missing = _Missing()
    for aggregate in facts.host_aggregates:
        output.tell(f"Processing aggregate: {aggregate.name}")
        for host in aggregate.hosts:
            output.tell(f"Processing host: {host}")
            codes += _placed(host, aggregate, facts, outcomes, missing, output)
    codes += _tell_missing(missing, output)
    for one in facts.coverage.missing:
        output.always(f"An error has occurred:\n{one.source}: {one.reason}")
        codes.append(ERROR)
    # PARITY: of what was missing, Nova returns the code of what it reports last.
    ending = [code for code in codes if code in (CODE_SEVERAL_NODES, CODE_NOT_UPDATED)]
    return (ending or codes[-1:] or [CODE_DONE])[0]


def _synchronized(
    arguments: argparse.Namespace, cloud: Cloud, options: AuditOptions, output: Output
) -> tuple[Facts, Mapping[str, Outcome]]:
    """Add what is missing; the facts, and how the step of each provider ended."""
    first = observed(cloud, options, EVERYTHING)
    found = tuple(row for row in first.audit.findings if row.defect == aggregate_drift.NAME)
    if not found:
        return first.facts, {}
    seconds = ADDING_SECONDS if arguments.interval is None else arguments.interval
    result = confirmed((cloud, options, EVERYTHING), first, found, seconds)
    steps = tuple(_adding(result.plan.steps))
    if len(steps) < len(result.plan.steps) or any(one not in steps for one in result.plan.steps):
        output.note(
            "some providers are in aggregates of Nova that their hosts are not in. nova-manage "
            "does not take them out, and neither does this command; 'trueup plan' does."
        )
    plan: Plan = replace(result.plan, steps=steps, effects=())
    writing = Writing(cloud, arguments.state_dir, pace_of(arguments), output)
    outcomes = writing.apply(plan)
    return result.second.facts, {
        uuid: outcome for step, outcome in outcomes for uuid in step.subjects
    }


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


def _placed(
    host: str,
    aggregate: HostAggregate,
    facts: Facts,
    outcomes: Mapping[str, Outcome],
    missing: _Missing,
    output: Output,
) -> list[int]:
    """Print how a host fared in an aggregate; Nova's code if it did not work."""
    mapping = facts.host_mapping.get(host)
    if mapping is None:
        missing.mappings.add(host)
        return []
    nodes = facts.nodes_by_host.get((mapping.cell, host), ())
    if facts.cells.get(mapping.cell) in {one.source for one in facts.coverage.missing}:
        return []
    if len(nodes) > 1:
        output.always(
            f"Unexpected number of compute node records ({len(nodes)}) found for host {host}. "
            "There should only be a one-to-one mapping."
        )
        return [CODE_SEVERAL_NODES]
    if not nodes:
        missing.nodes.add(host)
        return []
    uuid = nodes[0].uuid
    if uuid not in facts.providers:
        missing.providers[host] = uuid
        return []
    return _report_host(host, uuid, aggregate, facts, outcomes, output)


def _report_host(
    host: str,
    uuid: str,
    aggregate: HostAggregate,
    facts: Facts,
    outcomes: Mapping[str, Outcome],
    output: Output,
) -> list[int]:
    ended = outcomes.get(uuid)
    if aggregate.uuid in (facts.providers[uuid].aggregates or ()) or (
        ended and ended.result == "done"
    ):
        output.tell(
            f"Successfully added host ({host}) and provider ({uuid}) to aggregate "
            f"({aggregate.uuid})."
        )
        return []
    reason = ended.reason if ended else "'trueup audit' says why it is left alone"
    output.always(
        f"Failed updating provider aggregates for host ({host}), provider ({uuid}) and aggregate "
        f"({aggregate.uuid}). Error: {reason}"
    )
    return [CODE_NOT_UPDATED]


def _tell_missing(missing: _Missing, output: Output) -> list[int]:
    codes = []
    if missing.mappings:
        output.always(
            "The following hosts were found in nova host aggregates but no host mappings were "
            'found in the nova API DB. Run "nova-manage cell_v2 discover_hosts" and then retry. '
            f"Missing: {','.join(sorted(missing.mappings))}"
        )
        codes.append(CODE_NOT_MAPPED)
    if missing.nodes:
        output.always(
            "Unable to find matching compute_nodes record entries in the cell database for the "
            "following hosts; does the nova-compute service on each host need to be restarted? "
            f"Missing: {','.join(sorted(missing.nodes))}"
        )
        codes.append(CODE_NO_NODE)
    if missing.providers:
        named = ",".join(f"({host}={uuid})" for host, uuid in sorted(missing.providers.items()))
        output.always(
            "Unable to find matching resource provider record in placement with uuid for the "
            f"following hosts: {named}. Try restarting the nova-compute service on each host and "
            "then retry."
        )
        output.note("nova-manage ends with 2 at the first of them, although it documents 6.")
        codes.append(CODE_NO_PROVIDER)
    return codes
