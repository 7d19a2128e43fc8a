# SPDX-License-Identifier: Apache-2.0
"""Remedies as steps: every condition that a finding rests on is a guard, read again at the write.

SAFETY: a guard that is left out is a finding that may have become false unnoticed.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from trueup.reconcile.facts import (
    OWNER_TRAIT,
    Allocations,
    ComputeNode,
    Facts,
    Instance,
    Provider,
    grouped,
)
from trueup.reconcile.findings import Finding
from trueup.reconcile.place_guards import NodeIs
from trueup.reconcile.steps import (
    CellFresh,
    Change,
    DomainIs,
    Guard,
    MigrationState,
    ServiceDown,
    Step,
    Traits,
    TraitsOf,
    allocations_step,
    instance_state,
    step_of,
)
from trueup.reconcile.whole_provider import ProviderContents, WholeProvider


def guarded_step(
    after: Mapping[str, Allocations | None],
    facts: Facts,
    finding: Finding,
    instance: Instance,
    guards: Iterable[Guard] = (),
) -> Step:
    """The step that leaves these consumers with `after`, while all about the instance holds.

    That is its state, that its cell is not behind, and the status of each migration whose claim
    is released. `guards` are what else the finding rests on.
    """
    every = (
        instance_state(instance, moving=instance.uuid in facts.moving),
        *fresh(instance.cell, facts),
        *(
            MigrationState(row.cell, row.instance, row.uuid, row.status)
            for row in facts.migrations_of.get(instance.uuid, ())
            if row.uuid in after
        ),
        *guards,
    )
    return allocations_step(after, facts, (finding.id,), every)


def abandoned_host(cell: str, host: str, instance: Instance, facts: Facts) -> Iterator[Guard]:
    """The guards that a host still is down, and that its hypervisor does not run the guest."""
    yield ServiceDown(cell, host)
    yield from no_guest(host, instance, facts)


def no_guest(host: str, instance: Instance, facts: Facts) -> Iterator[Guard]:
    """The guard that the hypervisor of a host has the guest in no other state than it had."""
    if facts.hypervisor_answered(host):
        states = [row.state for row in facts.domains_of.get(instance.uuid, ()) if row.host == host]
        yield DomainIs(host, instance.uuid, states[0] if states else None)


def on_host(node: ComputeNode, facts: Facts) -> tuple[Guard, ...]:
    """The guards that a host's compute node is there, and that its cell is not behind."""
    return (NodeIs(node.cell, node.host, node.uuid), *fresh(node.cell, facts))


def traits_step(
    provider: Provider, traits: frozenset[str], finding: Finding, guards: Iterable[Guard]
) -> Step:
    """The step that leaves a provider with these traits. `provider.traits` are all that it has."""
    change = Change(
        TraitsOf(provider.uuid),
        Traits(tuple(sorted(provider.traits or ()))),
        Traits(tuple(sorted(traits))),
        {provider.uuid: provider.generation},
    )
    return step_of((change,), tuple(guards), (finding.id,))


def removal_steps(
    root: Provider, facts: Facts, finding: Finding, guards: Iterable[Guard]
) -> tuple[Step, ...]:
    """The steps that delete a tree, the deepest providers first; each needs those below it."""
    by_parent = grouped((row.parent, row) for row in facts.trees[root.uuid])
    every = tuple(guards)

    def below(row: Provider) -> Iterator[Step]:
        inner = [tuple(below(child)) for child in by_parent.get(row.uuid, ())]
        for steps in inner:
            yield from steps
        contents = _contents(row)
        change = Change(WholeProvider(row.uuid), contents, None, {row.uuid: contents.digest})
        needs = tuple(steps[-1].id for steps in inner)
        yield step_of((change,), every, (finding.id,), needs)

    return tuple(below(root))


def foreign_child(root: Provider, facts: Facts) -> Provider | None:
    """A provider below this root that is not known to be Nova's, if there is one."""
    for row in facts.trees[root.uuid]:
        if row is not root and OWNER_TRAIT not in (row.traits or ()):
            return row
    return None


def _contents(row: Provider) -> ProviderContents:
    return ProviderContents(
        name=row.name,
        parent=row.parent,
        inventories={name: asdict(one) for name, one in sorted(row.inventories.items())},
        traits=tuple(sorted(row.traits or ())),
        aggregates=tuple(sorted(row.aggregates or ())),
    )


def fresh(cell: str, facts: Facts) -> Iterator[Guard]:
    """The guard that a cell is not behind, if it is not now."""
    reported = facts.heartbeats.get(cell)
    # A cell that is behind with an operator's leave has no such guard: it would never hold.
    if reported is not None and facts.taken_at - reported <= facts.service_down_time:
        yield CellFresh(cell, int(facts.service_down_time.total_seconds()))
