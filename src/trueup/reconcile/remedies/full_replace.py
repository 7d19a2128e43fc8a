# SPDX-License-Identifier: Apache-2.0
"""Full replaces: remedies that give an instance all that it should hold, in one request. Pure.

The verdict and the remedy rest on the same value, `should_hold`.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from trueup.reconcile.expected import Ambiguous, Known, Share, Unknown, held_of
from trueup.reconcile.facts import Facts, Migration, outside_trees
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.guarded_steps import abandoned_host, guarded_step, no_guest
from trueup.reconcile.rules.claims import OnHost, elsewhere
from trueup.reconcile.rules.moves import first_that_may_run, left_by
from trueup.reconcile.rules.should_hold import by_class, should_hold
from trueup.reconcile.steps import Guard, MigrationState, Step
from trueup.reconcile.verdicts import (
    Evidence,
    Finding,
    Severity,
    Structure,
    Subject,
    Unchecked,
    holding,
    instance_evidence,
)


def amounts_verdict(
    name: str, severity: Severity, claim: OnHost, facts: Facts, more: Evidence | None = None
) -> Finding | Unchecked:
    """The verdict: the instance holds wrong amounts, or why that is not certain."""
    subject, names = Subject("instance", claim.instance.uuid), facts.provider_names
    others = sorted(names.get(root, root) for root in elsewhere(claim, facts))
    where = ", ".join(others) or claim.provider.name
    if reason := obstacle(claim, facts):
        return Unchecked(
            subject,
            where,
            because(
                "not-repairable",
                reason,
                holds=holding(claim.held, names),
                should_hold=holding(claim.wanted.known, names),
            ),
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


def full_replace(
    claim: OnHost, finding: Finding, facts: Facts, guards: Iterable[Guard] = ()
) -> tuple[Step, ...] | Reason:
    """The step: one request gives its own consumer all that it should hold."""
    uuid, right = claim.instance.uuid, should_hold(claim, facts)
    held = facts.holdings[uuid].allocations
    if held is None or isinstance(right, Unknown):
        return because("claim-unknown")
    every = (
        *guests_on(elsewhere(claim, facts), claim, facts),
        *sources_down((), claim, facts),
        *guards,
    )
    after = {uuid: replace(held, amounts=right)}
    return guarded_step(after, facts, finding, claim.instance, every)


def with_owner(claim: OnHost, finding: Finding, facts: Facts) -> tuple[Step, ...] | Reason:
    """The step: the same amounts, counted for the instance's own project and user.

    The consumer keeps its type, or stays without one.
    """
    instance = claim.instance
    held = facts.holdings[instance.uuid].allocations
    if held is None:
        return because("holds-nothing-now")
    after = replace(held, project=instance.project, user=instance.user)
    return guarded_step({instance.uuid: after}, facts, finding, instance)


def obstacle(claim: OnHost, facts: Facts) -> Reason | None:
    """Why the right amounts are not known, or why nothing may be released; or None."""
    if _is_spread(claim, facts):
        # SAFETY: it has one claim, not two, perhaps from a time when all of it was of one host.
        return because("claim-spread")
    right = should_hold(claim, facts)
    if isinstance(right, Unknown):
        return right.reason
    if reason := running_source((), claim, facts):
        # SAFETY: it may still run the guest, and its nova-compute writes when it cleans up.
        return reason
    if right == claim.held:
        return because("other-provider-unexplained")
    known = facts.nodes_by_uuid.keys() | {row.uuid for row in facts.deleted_compute_nodes}
    strangers = sorted(elsewhere(claim, facts) - known)
    if strangers:
        named = tuple(facts.provider_names.get(uuid, uuid) for uuid in strangers)
        return because("provider-of-no-node", providers=named)
    return None


def _is_spread(claim: OnHost, facts: Facts) -> bool:
    """Whether it holds the right amounts in sum, but spread over its own host and others."""
    held = held_of(Share.HOST, claim.held)
    here = outside_trees(held, elsewhere(claim, facts), facts)
    parts = claim.wanted.of(Share.HOST).parts
    asked = (part.amounts for part in parts if isinstance(part, Known | Ambiguous))
    return bool(here) and here != held and by_class(held.values()) == by_class(asked)


def guests_on(roots: Iterable[str], claim: OnHost, facts: Facts) -> Iterator[Guard]:
    """Guards: when the step is written, the released hosts do not run the guest."""
    for root in sorted(roots):
        for node in facts.nodes_by_uuid.get(root, ()):
            yield from no_guest(node.host, claim.instance, facts)


def running_source(
    roots: Container[str], claim: OnHost, facts: Facts, *, others: bool = True
) -> Reason | None:
    """Why a host from which it was evacuated may still run the guest; or None.

    Such are the hosts with these roots from which an evacuation was tried, and all hosts that have
    not cleaned up. Without `others`, the latter count only if their provider is not known.
    """
    return first_that_may_run(_abandoned(roots, claim, facts, others), claim.record, facts)


def sources_down(
    roots: Container[str], claim: OnHost, facts: Facts, *, others: bool = True
) -> Iterator[Guard]:
    """Guards: when the step is written, the hosts of `running_source` are down."""
    for row in _abandoned(roots, claim, facts, others):
        yield from abandoned_host(row, claim.instance, facts)


def _abandoned(
    roots: Container[str], claim: OnHost, facts: Facts, others: bool
) -> tuple[Migration, ...]:
    """The newest evacuation from each of these hosts, but not from its own host.

    Only a source that came back and cleaned up sets the evacuation to `completed`.
    """
    named: dict[tuple[str | None, ...], Migration] = {}
    for row in claim.record.migrations:
        if row.kind != "evacuation" or row.status == "completed":
            continue
        root = left_by(row, facts)
        other = others and row.status == "done" and root != claim.provider.root
        if root is None or root in roots or other:
            named[row.cell, row.source_host, row.source_node] = row
    return tuple(named.values())


def same_status(moves: Iterable[Migration]) -> Iterator[Guard]:
    """Guards: these migrations still have the same status."""
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
