# SPDX-License-Identifier: Apache-2.0
"""Full replaces: remedies that let an instance hold all that it should, in one request.

Pure. The verdict and the remedy rest on the same value, `should_hold`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.claims import OnHost, elsewhere, left_by
from trueup.reconcile.expected import Unknown
from trueup.reconcile.facts import Facts, Migration
from trueup.reconcile.findings import (
    Declined,
    Evidence,
    Finding,
    Severity,
    Structure,
    Subject,
    Unchecked,
    amounts_in_words,
    holding,
    instance_evidence,
)
from trueup.reconcile.remedies import abandoned_host, guarded_step, no_guest
from trueup.reconcile.residence import source_is_up
from trueup.reconcile.should_hold import should_hold
from trueup.reconcile.steps import Guard, MigrationState, Step


def replacing(
    name: str, severity: Severity, claim: OnHost, facts: Facts, more: Evidence | None = None
) -> Finding | Unchecked:
    """The verdict: it does not hold what it should, or why that is not certain."""
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    others = sorted(names.get(root, root) for root in elsewhere(claim, facts))
    where = ", ".join(others) or claim.provider.name
    if reason := obstacle(claim, facts):
        return Unchecked(
            subject,
            where,
            f"holds {amounts_in_words(claim.held, names)}, should hold "
            f"{amounts_in_words(claim.wanted.known, names) or 'nothing'}; {reason}",
        )
    right = should_hold(claim, facts)
    should = () if isinstance(right, Unknown) else holding(right, names)
    evidence = {
        "instance": instance_evidence(claim.instance, facts),
        **(more or {}),
        "holds": holding(claim.held, names),
        "should_hold": should,
    }
    return Finding(name, subject, where, severity, evidence)


def replaced(
    claim: OnHost, finding: Finding, facts: Facts, guards: Iterable[Guard] = ()
) -> tuple[Step, ...] | Declined:
    """The step: all that it should hold, by its own consumer, in one request."""
    uuid, right = claim.instance.uuid, should_hold(claim, facts)
    held = facts.holdings[uuid].allocations
    if held is None or isinstance(right, Unknown):
        return Declined("what it should hold is not known")
    roots = uncleaned_sources(claim, facts)
    every = (
        *guests_on(elsewhere(claim, facts), claim, facts),
        *sources_down(roots, claim, facts),
        *guards,
    )
    after = {uuid: replace(held, amounts=right)}
    return guarded_step(after, facts, finding, claim.instance, every)


def with_owner(claim: OnHost, finding: Finding, facts: Facts) -> tuple[Step, ...] | Declined:
    """The step: the same amounts, counted for the instance's own project and user.

    The consumer's type stays as it is, also where it has none.
    """
    instance = claim.instance
    held = facts.holdings[instance.uuid].allocations
    if held is None:
        return Declined("it holds nothing now")
    after = replace(held, project=instance.project, user=instance.user)
    return guarded_step({instance.uuid: after}, facts, finding, instance)


def obstacle(claim: OnHost, facts: Facts) -> str:
    """Why it is not known what the instance should hold, or why nothing may be released; or ""."""
    right = should_hold(claim, facts)
    if isinstance(right, Unknown):
        return right.reason
    if source := running_source(uncleaned_sources(claim, facts), claim, facts):
        # SAFETY: it may still run the guest, and its nova-compute writes when it cleans up.
        return f"it was evacuated from {source}, which is up and has not cleaned up"
    if right == claim.held:
        return "it is not known why it holds resources of another provider"
    known = facts.nodes_by_uuid.keys() | {row.uuid for row in facts.deleted_compute_nodes}
    strangers = sorted(elsewhere(claim, facts) - known)
    if strangers:
        named = ", ".join(facts.provider_names.get(one, one) for one in strangers)
        return f"{named} is of no compute node that any cell knows"
    # SAFETY: a silent source may know why it holds them.
    return facts.coverage.gap


def guests_on(roots: Iterable[str], claim: OnHost, facts: Facts) -> Iterator[Guard]:
    """Guards: the hosts whose resources are released do not run the guest at the write."""
    for root in sorted(roots):
        for node in facts.nodes_by_uuid.get(root, ()):
            yield from no_guest(node.host, claim.instance, facts)


def running_source(roots: Iterable[str], claim: OnHost, facts: Facts) -> str:
    """The name of one of these hosts that is up and may still run the guest; empty: none is.

    Those are the hosts that it was evacuated from and that have not cleaned up.
    """
    sources = _abandoned(roots, claim, facts)
    up = [root for root in sorted(sources) if source_is_up(sources[root], facts)]
    return facts.provider_names.get(up[0], up[0]) if up else ""


def uncleaned_sources(claim: OnHost, facts: Facts) -> frozenset[str]:
    """The roots of the hosts that it was evacuated from and that have not cleaned up.

    It may hold nothing of them.
    """
    moves = (row for row in claim.record.migrations if row.kind == "evacuation")
    roots = {left_by(row, facts) for row in moves if row.status == "done"}
    return frozenset(root for root in roots if root and root != claim.provider.root)


def sources_down(roots: Iterable[str], claim: OnHost, facts: Facts) -> Iterator[Guard]:
    """Guards: those of these hosts that may still run the guest are down at the write."""
    for row in _abandoned(sorted(roots), claim, facts).values():
        yield from abandoned_host(row.cell, row.source_host or "", claim.instance, facts)


def _abandoned(roots: Iterable[str], claim: OnHost, facts: Facts) -> dict[str, Migration]:
    """Those of these hosts that it was evacuated from, or that this was tried from.

    Only a source that has come back and has cleaned up sets the evacuation to `completed`.
    """
    moves = (row for row in claim.record.migrations if row.kind == "evacuation")
    named = {left_by(row, facts): row for row in moves if row.status != "completed"}
    return {root: named[root] for root in roots if root in named}


def same_status(moves: Iterable[Migration]) -> Iterator[Guard]:
    """Guards: these migrations still have the status that they had."""
    for row in {move.uuid: move for move in moves}.values():
        yield MigrationState(row.cell, row.instance, row.uuid, row.status)


def moves_evidence(moves: Iterable[Migration]) -> tuple[Structure, ...]:
    """Migrations as evidence."""
    every: Mapping[str, Migration] = {row.uuid: row for row in moves}
    return tuple(
        {
            "uuid": row.uuid,
            "kind": row.kind,
            "status": row.status,
            "source_host": row.source_host,
            "target_host": row.target_host,
        }
        for row in every.values()
    )
