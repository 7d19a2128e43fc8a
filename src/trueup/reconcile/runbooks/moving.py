# SPDX-License-Identifier: Apache-2.0
"""Moving: inventories and allocations of a provider, to another provider. Pure.

SAFETY: inventories and allocations move in one request, so that an instance never holds less than
it should, and the host never counts twice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from trueup.reconcile.facts import Allocations, Amounts, Facts, Provider, instance_state
from trueup.reconcile.runbooks.host_reading import HostReading
from trueup.reconcile.steps import (
    Change,
    Guard,
    Inventories,
    InventoryFields,
    InventoryValues,
    MigrationState,
    ProviderFields,
    ProviderNode,
    Step,
    Tree,
    TreeContents,
    digest,
    step_of,
)


@dataclass(frozen=True, slots=True)
class TreeMove:
    """Inventories of providers before and after, and where the allocations of each go.

    `moved`: uuid of the giving provider → uuid of the taking one.
    """

    before: Mapping[str, InventoryValues]
    after: Mapping[str, InventoryValues]
    moved: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reasons:
    """The common parts of the steps of one move."""

    guards: tuple[Guard, ...]
    because: tuple[str, ...]


def renamed(provider: Provider, name: str, reasons: Reasons) -> Step:
    """The step that gives a provider another name."""
    before = ProviderFields(provider.name, provider.parent)
    return _placed(provider.uuid, before, ProviderFields(name, provider.parent), reasons, ())


def re_parented(provider: Provider, parent: str, reasons: Reasons, needs: Iterable[str]) -> Step:
    """The step that puts a provider, with its subtree, below another parent."""
    before = ProviderFields(provider.name, provider.parent)
    after = ProviderFields(provider.name, parent)
    return _placed(provider.uuid, before, after, reasons, needs)


def _placed(
    uuid: str,
    before: ProviderFields,
    after: ProviderFields,
    reasons: Reasons,
    needs: Iterable[str],
) -> Step:
    change = Change(ProviderNode(uuid), before, after, {uuid: digest(before)})
    return step_of((change,), reasons.guards, reasons.because, tuple(needs))


def moved_at_once(
    move: TreeMove, facts: Facts, reading: HostReading, reasons: Reasons, needs: Iterable[str]
) -> Step:
    """The step that moves inventories and all allocations in one request."""
    consumers = holders(move.moved, facts)
    held = {consumer: reading.holdings[consumer] for consumer in consumers}
    before = {uuid: _stock(rows) for uuid, rows in move.before.items()}
    after = {uuid: _stock(rows) for uuid, rows in move.after.items()}
    change = Change(
        Tree(tuple(move.before), consumers),
        TreeContents(before, {consumer: row.allocations for consumer, row in held.items()}),
        TreeContents(
            after,
            {consumer: _allocations_after(row.allocations, move) for consumer, row in held.items()},
        ),
        {uuid: digest(Inventories(rows)) for uuid, rows in before.items()}
        | {consumer: row.generation for consumer, row in held.items()},
    )
    guards = (*reasons.guards, *_as_they_are(consumers, facts))
    return step_of((change,), guards, reasons.because, tuple(needs))


def holders(providers: Iterable[str], facts: Facts) -> tuple[str, ...]:
    """The consumers that hold something of these providers, in order."""
    return tuple(
        sorted({consumer for uuid in providers for consumer in facts.consumers_of.get(uuid, ())})
    )


def moved_amounts(amounts: Amounts, moved: Mapping[str, str]) -> Amounts:
    """The same amounts, with the taking providers in place of the giving ones.

    Amounts of both are held twice; only those of the taking provider stay.
    """
    after: dict[str, Mapping[str, int]] = {
        uuid: held for uuid, held in amounts.items() if uuid not in moved
    }
    for uuid, held in amounts.items():
        if uuid in moved:
            after[moved[uuid]] = {**held, **after.get(moved[uuid], {})}
    return after


def _allocations_after(held: Allocations | None, move: TreeMove) -> Allocations | None:
    return replace(held, amounts=moved_amounts(held.amounts, move.moved)) if held else None


def _stock(rows: InventoryValues) -> Mapping[str, InventoryFields]:
    return {name: msgspec.convert(row, InventoryFields) for name, row in sorted(rows.items())}


def _as_they_are(consumers: Iterable[str], facts: Facts) -> Iterator[Guard]:
    """Guards: each instance and migration among the consumers is unchanged."""
    moves = {row.uuid: row for row in facts.migrations}
    for consumer in consumers:
        if instance := facts.alive.get(consumer):
            yield instance_state(instance, moving=consumer in facts.moving)
        elif move := moves.get(consumer):
            yield MigrationState(move.cell, move.instance, move.uuid, move.status)
