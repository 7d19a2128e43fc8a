# SPDX-License-Identifier: Apache-2.0
"""Moving: what a provider has and what is held of it, to another provider. Pure.

SAFETY: inventories and allocations move in one request, so that at no moment an instance holds less
than it should, or the host counts twice.
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
    """Inventories of providers before and after, and where what is held of each goes.

    `moved` is by the uuid of the provider that gives, the uuid of the one that takes.
    """

    before: Mapping[str, InventoryValues]
    after: Mapping[str, InventoryValues]
    moved: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reasons:
    """What the steps of one move have in common."""

    guards: tuple[Guard, ...]
    because: tuple[str, ...]


def renamed(provider: Provider, name: str, reasons: Reasons) -> Step:
    """The step that gives a provider another name."""
    before = ProviderFields(provider.name, provider.parent)
    return _placed(provider.uuid, before, ProviderFields(name, provider.parent), reasons, ())


def re_parented(provider: Provider, parent: str, reasons: Reasons, needs: Iterable[str]) -> Step:
    """The step that puts a provider, with all below it, below another parent."""
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
    """The step that moves inventories, and all that consumers hold, in one request."""
    consumers = holders(move.moved, facts)
    held = {consumer: reading.holdings[consumer] for consumer in consumers}
    before = {uuid: _stock(rows) for uuid, rows in move.before.items()}
    after = {uuid: _stock(rows) for uuid, rows in move.after.items()}
    change = Change(
        Tree(tuple(move.before), consumers),
        TreeContents(before, {consumer: row.allocations for consumer, row in held.items()}),
        TreeContents(
            after, {consumer: _moved(row.allocations, move) for consumer, row in held.items()}
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
    """The same amounts, of the providers that take in place of those that give.

    What is held of both is held twice; then only what is held of the one that takes stays.
    """
    after: dict[str, Mapping[str, int]] = {
        uuid: held for uuid, held in amounts.items() if uuid not in moved
    }
    for uuid, held in amounts.items():
        if uuid in moved:
            after[moved[uuid]] = {**held, **after.get(moved[uuid], {})}
    return after


def _moved(held: Allocations | None, move: TreeMove) -> Allocations | None:
    return replace(held, amounts=moved_amounts(held.amounts, move.moved)) if held else None


def _stock(rows: InventoryValues) -> Mapping[str, InventoryFields]:
    return {name: msgspec.convert(row, InventoryFields) for name, row in sorted(rows.items())}


def _as_they_are(consumers: Iterable[str], facts: Facts) -> Iterator[Guard]:
    """Guards: each instance and migration among the consumers is as it was."""
    moves = {row.uuid: row for row in facts.migrations}
    for consumer in consumers:
        if instance := facts.alive.get(consumer):
            yield instance_state(instance, moving=consumer in facts.moving)
        elif move := moves.get(consumer):
            yield MigrationState(move.cell, move.instance, move.uuid, move.status)
