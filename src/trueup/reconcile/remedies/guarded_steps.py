# SPDX-License-Identifier: Apache-2.0
"""Remedies as steps: every condition of a finding is a guard, which the write reads again.

SAFETY: without these guards, a step could be written for a finding that is no longer true.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain

from trueup.reconcile.clock import oldest_age
from trueup.reconcile.expected import Share, share_of
from trueup.reconcile.facts import (
    OWNER_TRAIT,
    Allocations,
    Amounts,
    ComputeNode,
    Facts,
    Instance,
    LedgerFault,
    Migration,
    Provider,
    canonical_uuid,
    grouped,
    instance_state,
)
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.remedies.bindings import (
    WrongBinding,
    binding_changes,
    not_writable,
    wrong_bindings,
)
from trueup.reconcile.rules.moves import has_no_domain, source_hosts
from trueup.reconcile.rules.whereabouts import as_found, whereabouts
from trueup.reconcile.steps import (
    AllocationsOf,
    CellFresh,
    Change,
    DomainIs,
    Guard,
    MigrationState,
    NodeIs,
    ProviderContents,
    ServiceDown,
    Step,
    Traits,
    TraitsOf,
    VersionIs,
    WholeProvider,
    allocations_step,
    step_of,
)
from trueup.reconcile.verdicts import Finding

# A consumer type that Placement's API accepts.
_CONSUMER_TYPE = re.compile(r"[A-Z0-9_]+")


def guarded_step(
    after: Mapping[str, Allocations | None],
    facts: Facts,
    finding: Finding,
    instance: Instance,
    guards: Iterable[Guard] = (),
) -> tuple[Step, ...] | Reason:
    """The step that leaves these consumers with `after`.

    Its guards are the state of the instance, the freshness of its cell, the compute node of its
    host if it keeps something, the status of each migration whose claim is released, the answer of
    the hypervisors if only they know where it is, and `guards`: the finding's other conditions.
    A consumer that already holds the right amounts is not written to, but guarded.

    The step also corrects the binding profiles of the instance's ports that would be wrong
    afterwards. If one of them cannot be written, neither is the claim.
    """
    written = {
        consumer: held
        for consumer, held in after.items()
        if facts.holdings[consumer].allocations != held
    }
    if not written:
        return because("right-now")
    moves = (
        MigrationState(row.cell, row.instance, row.uuid, row.status)
        for row in facts.migrations_of.get(instance.uuid, ())
        if row.uuid in after
    )
    if (
        reason := unlisted_rows(after, facts)
        or _not_allowed(written.values(), facts)
        or _kept_of_nothing(written, facts)
    ):
        return reason
    found = as_found(instance, facts.record(instance.uuid), facts)
    all_guards = (
        *_settled(instance, facts),
        *_host_is(after.get(instance.uuid), found, facts),
        *(_holds(consumer, facts) for consumer in sorted(after.keys() - written.keys())),
        *moves,
        *_where_found(instance, facts),
        *guards,
    )
    every = tuple(guard for n, guard in enumerate(all_guards) if guard not in all_guards[:n])
    step = allocations_step(written, facts, (finding.id,), every)
    wrong = _wrong_bindings(after.get(instance.uuid), found, facts)
    if reason := not_writable(wrong, facts):
        return reason
    bindings = binding_changes(wrong)
    return (step_of((*step.changes, *bindings), every, step.because) if bindings else step,)


def _holds(consumer: str, facts: Facts) -> VersionIs:
    """Guard: nobody has changed what a consumer holds since Trueup read it."""
    version = {consumer: facts.holdings[consumer].generation}
    return VersionIs(AllocationsOf((consumer,)), version)


def _where_found(instance: Instance, facts: Facts) -> Iterator[Guard]:
    """Guards: the guest is where the hypervisors found it, if only they know that place."""
    doubt = whereabouts(instance, facts.record(instance.uuid), facts)
    for place in doubt.places if doubt else ():
        yield from no_guest(place.host, instance, facts)


def unlisted_rows(after: Mapping[str, Allocations | None], facts: Facts) -> Reason | None:
    """Which of these consumers may have rows that Placement does not list; or None.

    SAFETY: a write for a consumer deletes all its rows, and an undo restores only the listed rows.
    Usage of an unknown consumer may belong to a consumer that seems to hold nothing.
    """
    known = facts.once(_unlisted_by_consumer)
    of_nobody = [row for row in facts.ledger_faults if row.resource_class and not row.consumers]
    for consumer, allocations in after.items():
        if fault := known.get(consumer):
            return because("rows-unlisted", provider=_name_of(fault, facts))
        amounts = allocations.amounts if allocations and consumer not in facts.consumers else {}
        for fault in of_nobody:
            if fault.resource_class in amounts.get(fault.subject, {}):
                return because("rows-maybe-its-own", provider=_name_of(fault, facts))
    return None


def _unlisted_by_consumer(facts: Facts) -> Mapping[str, LedgerFault]:
    """The database's faults of allocations, by consumer."""
    return {
        canonical_uuid(consumer): row for row in facts.ledger_faults for consumer in row.consumers
    }


def _name_of(fault: LedgerFault, facts: Facts) -> str:
    return facts.provider_names.get(fault.subject, fault.subject)


def _not_allowed(after: Iterable[Allocations | None], facts: Facts) -> Reason | None:
    """Why Placement would refuse these allocations; or None."""
    kept = [allocations for allocations in after if allocations]
    for allocations in kept:
        if not allocations.project or not allocations.user:
            return because("no-owner")
        if allocations.consumer_type and not _CONSUMER_TYPE.fullmatch(allocations.consumer_type):
            return because("consumer-type-refused", consumer_type=allocations.consumer_type)
    for uuid, row in chain.from_iterable(allocations.amounts.items() for allocations in kept):
        stocks = facts.providers[uuid].inventories if uuid in facts.providers else {}
        for name, amount in row.items():
            stock = stocks.get(name)
            if stock and not stock.allows(amount):
                return because(
                    "amount-refused",
                    provider=facts.provider_names[uuid],
                    resource_class=name,
                    min_unit=stock.min_unit,
                    max_unit=stock.max_unit,
                    step_size=stock.step_size,
                    amount=amount,
                )
    return None


def _kept_of_nothing(after: Mapping[str, Allocations | None], facts: Facts) -> Reason | None:
    """Which kept amount is of a class that its provider has no inventory of; or None.

    Half a reshape leaves such amounts. Placement refuses any write that keeps them.
    """
    held = [facts.consumers.get(consumer, {}) for consumer in after]
    for uuid, row in chain.from_iterable(
        allocations.amounts.items() for allocations in after.values() if allocations
    ):
        stocks = facts.providers[uuid].inventories if uuid in facts.providers else row
        for name in sorted(row.keys() - stocks.keys()):
            if any(name in amounts.get(uuid, {}) for amounts in held):
                return because(
                    "kept-class-without-inventory",
                    provider=facts.provider_names[uuid],
                    resource_class=name,
                )
    return None


def with_share(share: Share, held: Amounts, right: Amounts) -> Amounts:
    """The held amounts with one share corrected to `right`; the rest is kept."""
    after: dict[str, dict[str, int]] = {}
    for uuid, row in held.items():
        kept = {name: amount for name, amount in row.items() if share_of(name) is not share}
        after[uuid] = kept
    for uuid, row in right.items():
        after.setdefault(uuid, {}).update(row)
    return {uuid: row for uuid, row in after.items() if row}


def bindings_step(finding: Finding, instance: Instance, facts: Facts) -> Step | Reason:
    """The step that lets the profiles of its ports name the providers that it holds."""
    holding = facts.holdings[instance.uuid]
    found = as_found(instance, facts.record(instance.uuid), facts)
    wrong = _wrong_bindings(holding.allocations, found, facts)
    if reason := not_writable(wrong, facts):
        return reason
    changes = binding_changes(wrong)
    if not changes:
        return because("bindings-right-now")
    where = (*_settled(instance, facts), *_where_found(instance, facts))
    return step_of(changes, (*where, _holds(instance.uuid, facts)), (finding.id,))


def _settled(instance: Instance, facts: Facts) -> tuple[Guard, ...]:
    """Guards: the instance is as it was, and its cell is not behind."""
    state = instance_state(instance, moving=instance.uuid in facts.moving)
    return (state, *fresh(instance.cell, facts))


def _host_is(after: Allocations | None, instance: Instance, facts: Facts) -> Iterator[Guard]:
    """Guard: its host still has the compute node whose resources it keeps."""
    if after is not None:
        yield from (NodeIs(node.cell, node.host, node.uuid) for node in _nodes_of(instance, facts))


def _nodes_of(instance: Instance, facts: Facts) -> tuple[ComputeNode, ...]:
    place = (instance.cell, instance.host or "", instance.node or "")
    return facts.nodes_by_place.get(place, ())


def _wrong_bindings(
    after: Allocations | None, instance: Instance, facts: Facts
) -> tuple[WrongBinding, ...]:
    nodes = _nodes_of(instance, facts)
    if after is None or len(nodes) != 1:
        return ()
    return tuple(wrong_bindings(nodes[0].uuid, instance, after.amounts, facts))


def abandoned_host(move: Migration, instance: Instance, facts: Facts) -> Iterator[Guard]:
    """Guards: an evacuation's source is still down, and its hypervisor has the guest as before.

    If that hypervisor has no domain of the guest, nova-compute may be up.
    """
    for host in source_hosts(move, facts):
        if not has_no_domain(host.name, instance.uuid, facts):
            yield ServiceDown(host.cell, host.service.host if host.service else host.name)
        yield from no_guest(host.name, instance, facts)


def no_guest(host: str, instance: Instance, facts: Facts) -> Iterator[Guard]:
    """Guard: the hypervisor of a host, if it answered, has the guest in the same state."""
    if facts.hypervisor_answered(host):
        states = [row.state for row in facts.domains_of.get(instance.uuid, ()) if row.host == host]
        yield DomainIs(host, instance.uuid, states[0] if states else None)


def on_host(node: ComputeNode, facts: Facts) -> tuple[Guard, ...]:
    """Guards: the host's compute node is there, and its cell is not behind."""
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
) -> tuple[Step, ...] | Reason:
    """The steps that delete a tree from the bottom up; each step needs those below it."""
    if broken := facts.broken_roots.get(root.uuid):
        return because("tree-broken", broken=str(broken))
    tree = facts.trees[root.uuid]
    contents = {row.uuid: _contents(row) for row in tree}
    return deletions(root, tree, contents, (finding.id,), guards)


def deletions(
    root: Provider,
    tree: Iterable[Provider],
    contents: Mapping[str, ProviderContents],
    because: tuple[str, ...],
    guards: Iterable[Guard],
) -> tuple[Step, ...]:
    """The steps that delete a tree whose providers have these contents."""
    by_parent = grouped((row.parent, row) for row in tree)
    every = tuple(guards)

    def below(row: Provider) -> Iterator[Step]:
        inner = [tuple(below(child)) for child in by_parent.get(row.uuid, ())]
        for steps in inner:
            yield from steps
        needs = tuple(steps[-1].id for steps in inner)
        yield step_of((deletion(row.uuid, contents[row.uuid]),), every, because, needs)

    return tuple(below(root))


def deletion(provider: str, contents: ProviderContents) -> Change:
    """The change that deletes a provider with these contents."""
    return Change(WholeProvider(provider), contents, None, {provider: contents.digest})


def foreign_child(root: Provider, facts: Facts) -> Provider | None:
    """A provider below this root that is not known to be Nova's; or None."""
    for row in facts.trees[root.uuid]:
        if row is not root and OWNER_TRAIT not in (row.traits or ()):
            return row
    return None


def _contents(row: Provider) -> ProviderContents:
    return ProviderContents(
        name=row.name,
        parent=row.parent,
        inventories={name: asdict(stock) for name, stock in sorted(row.inventories.items())},
        traits=tuple(sorted(row.traits or ())),
        aggregates=tuple(sorted(row.aggregates or ())),
    )


def fresh(cell: str, facts: Facts) -> Iterator[Guard]:
    """Guard: the cell is not behind. There is none if the cell is behind already."""
    reported, ahead = facts.heartbeats.get(cell), facts.clocks_ahead.get(cell)
    if reported is None:
        return
    # An operator may trust a cell that is behind. There this guard would always fail.
    if oldest_age(reported, facts.taken_at, ahead) <= facts.service_down_time:
        yield CellFresh(cell, int(facts.service_down_time.total_seconds()))
