# SPDX-License-Identifier: Apache-2.0
"""The facts as they would be: after the steps of a plan, and with other hosts or inventories."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from trueup.reconcile.audit import Audit
from trueup.reconcile.facts import Amounts, Facts, Inventory, Provider
from trueup.reconcile.report.effects import effects_of
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    Change,
    Inventories,
    InventoriesOf,
    InventoryFields,
    ProviderFields,
    ProviderNode,
    Step,
    Traits,
    TraitsOf,
    Tree,
    TreeContents,
    WholeProvider,
    consumers_in,
    held_in,
)


def after_repair(facts: Facts, audit: Audit) -> Facts | None:
    """The facts after the steps that the findings of an audit propose; None: there are none."""
    effects = effects_of(audit.findings, facts)
    steps = {step.id: step for effect in effects.values() for step in effect.steps}
    return after_steps(facts, steps.values()) if steps else None


def after_steps(facts: Facts, steps: Iterable[Step]) -> Facts:
    """The facts with what the steps write; the ledger only, since capacity rests on that."""
    consumers, providers = {**facts.consumers}, {**facts.providers}
    for change in (change for step in steps for change in step.changes):
        for consumer in consumers_in(change):
            held = held_in(change.after).get(consumer)
            consumers[consumer] = held.amounts if held else {}
        _write(change, providers)
    held_amounts: dict[str, Amounts] = {
        consumer: held for consumer, held in consumers.items() if held
    }
    return replace(facts, consumers=held_amounts, providers=providers)


def _write(change: Change, providers: dict[str, Provider]) -> None:
    match change.target, change.after:
        case ((ProviderNode(uuid) | WholeProvider(uuid)), None):
            providers.pop(uuid, None)
        case ProviderNode(uuid), ProviderFields(name, parent):
            known = providers.get(uuid)
            root = providers[parent].root if parent in providers else uuid
            providers[uuid] = (
                replace(known, name=name, parent=parent, root=root)
                if known
                else Provider(uuid, name, 0, root, {}, parent=parent)
            )
        case InventoriesOf(uuid), Inventories(rows) if uuid in providers:
            providers[uuid] = replace(providers[uuid], inventories=_stocks(rows))
        case TraitsOf(uuid), Traits(names) if uuid in providers:
            providers[uuid] = replace(providers[uuid], traits=frozenset(names))
        case AggregatesOf(uuid), Aggregates(uuids) if uuid in providers:
            providers[uuid] = replace(providers[uuid], aggregates=frozenset(uuids))
            _share(providers[uuid], providers)
        case Tree(), TreeContents(inventories, _):
            for uuid in inventories.keys() & providers.keys():
                stocks = _stocks(inventories[uuid])
                providers[uuid] = replace(providers[uuid], inventories=stocks)


def _share(member: Provider, providers: dict[str, Provider]) -> None:
    """Let the pools share with the tree of a provider whose aggregates changed, or no longer."""
    for pool in [row for row in providers.values() if row.sharing and row.aggregates is not None]:
        shares = bool((pool.aggregates or frozenset()) & (member.aggregates or frozenset()))
        others = pool.shares_with - {member.root}
        providers[pool.uuid] = replace(
            pool, shares_with=others | {member.root} if shares else others
        )


def _stocks(rows: Mapping[str, InventoryFields]) -> dict[str, Inventory]:
    return {
        name: Inventory(
            row.total, row.reserved, row.allocation_ratio, row.min_unit, row.max_unit, row.step_size
        )
        for name, row in rows.items()
    }
