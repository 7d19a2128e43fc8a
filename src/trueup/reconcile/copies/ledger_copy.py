# SPDX-License-Identifier: Apache-2.0
"""A copy of a whole ledger over Placement's API: read, kept in a file, and written elsewhere.

Generations and times are not part of a copy: each Placement counts its own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trueup.reconcile import changes, files
from trueup.reconcile.changes import Reply
from trueup.reconcile.facts import Allocations
from trueup.reconcile.reasons import Reason, because
from trueup.reconcile.sources.cloud import Cloud
from trueup.reconcile.steps import (
    Aggregates,
    AggregatesOf,
    AllocationsOf,
    Change,
    Held,
    Inventories,
    InventoriesOf,
    InventoryFields,
    ProviderFields,
    ProviderNode,
    State,
    Target,
    Traits,
    TraitsOf,
    parts_of,
)
from trueup.reconcile.threads import threads

FORMAT = 1
PARALLEL_REQUESTS = 8
_CUSTOM = "CUSTOM_"
# The inventory while allocations are written, so that an overfull host can be copied too.
_ENDLESS = InventoryFields(2**31 - 1, 0, 1, 2**31 - 1, 1, 1.0)

# Called with the stage, the number done, and the total.
Progress = Callable[[str, int, int], None]


@dataclass(eq=False)
class LedgerNotEmpty(Exception):
    """The Placement to write to has contents that are not part of the copy."""

    providers: int
    consumers: int


@dataclass(eq=False)
class CopyRefused(Exception):
    """Placement refused a part of the copy; the parts before it were written."""

    part: str
    reason: Reason | None


@dataclass(eq=False)
class AmountBelowOne(Exception):
    """A consumer of the copy holds an amount that Placement's API never accepts."""

    consumer: str
    provider: str
    resource_class: str
    amount: int


@dataclass(eq=False)
class CopyDiffers(Exception):
    """Everything was written, but Placement differs from the copy: another client writes to it."""


class ProviderCopy(msgspec.Struct, frozen=True):
    """A provider with everything that belongs to it."""

    uuid: str
    name: str
    parent: str | None
    inventories: Mapping[str, InventoryFields]
    trait_names: tuple[str, ...]
    aggregate_uuids: tuple[str, ...]


class LedgerCopy(msgspec.Struct, frozen=True):
    """A whole ledger: parents before their children; consumers by uuid."""

    providers: tuple[ProviderCopy, ...]
    consumers: Mapping[str, Allocations]
    format: int = FORMAT


def read(cloud: Cloud, progress: Progress) -> LedgerCopy:
    """The ledger of a Placement. Raises Unreachable and AccessDenied.

    SAFETY: it is read piece by piece, and may contain half of a change that is made meanwhile. So
    a copy to keep is made while no client writes.
    """
    listed = cloud.placement.document("/resource_providers")["resource_providers"]
    parents = {row["uuid"]: row["parent_provider_uuid"] for row in listed}
    uuids = sorted(parents, key=lambda uuid: (_depth(uuid, parents), uuid))
    providers: list[ProviderCopy] = []
    consumers: set[str] = set()
    with threads(PARALLEL_REQUESTS) as pool:
        for found, holders in pool.map(lambda uuid: _provider(uuid, cloud), uuids):
            providers += [found] if found else []
            consumers |= holders
            progress("providers", len(providers), len(uuids))
    holdings = cloud.placement.holdings(sorted(consumers))
    held = {uuid: row.allocations for uuid, row in holdings.items()}
    return LedgerCopy(
        tuple(providers), {uuid: row for uuid, row in held.items() if row is not None}
    )


def write(copy: LedgerCopy, cloud: Cloud, progress: Progress) -> bool:
    """Write a copy into an empty Placement. False if Placement equals the copy already.

    If an earlier write of the same copy was stopped, it is continued.

    Raises AmountBelowOne, LedgerNotEmpty, CopyRefused, CopyDiffers, Unreachable, AccessDenied.
    """
    there = read(cloud, lambda *_: None)
    if there.providers or there.consumers:
        if there == copy:
            return False
        if not _is_begun(there, copy):
            raise LedgerNotEmpty(len(there.providers), len(there.consumers))
    _refuse_below_one(copy)
    _name_customs(copy, cloud)
    for done, provider in enumerate(copy.providers, 1):
        _create(provider, cloud)
        progress("providers", done, len(copy.providers))
    for done, (consumer, held) in enumerate(sorted(copy.consumers.items()), 1):
        _write(AllocationsOf((consumer,)), Held({consumer: held}), cloud)
        progress("consumers", done, len(copy.consumers))
    for provider in copy.providers:
        if provider.inventories:
            _write(InventoriesOf(provider.uuid), Inventories(provider.inventories), cloud)
    if read(cloud, progress) != copy:
        raise CopyDiffers
    return True


def _is_begun(there: LedgerCopy, copy: LedgerCopy) -> bool:
    """Whether an earlier write of this copy to this Placement was stopped.

    SAFETY: everything there must be part of the copy and, if there are inventories, one provider
    must have endless ones. A Placement in use has no such provider.
    """
    wanted = {provider.uuid: provider for provider in copy.providers}
    begun = all(_is_part(provider, wanted.get(provider.uuid)) for provider in there.providers)
    held = all(copy.consumers.get(uuid) == row for uuid, row in there.consumers.items())
    made = [provider for provider in there.providers if provider.inventories]
    return begun and held and (not made or any(_is_endless(provider) for provider in made))


def _is_endless(provider: ProviderCopy) -> bool:
    return all(row == _ENDLESS for row in provider.inventories.values())


def _is_part(there: ProviderCopy, wanted: ProviderCopy | None) -> bool:
    """Whether a provider is the wanted one, or an unfinished state of it."""
    if wanted is None or (there.name, there.parent) != (wanted.name, wanted.parent):
        return False
    endless = _is_endless(there) and {*there.inventories} == {*wanted.inventories}
    return (
        (endless or there.inventories in ({}, wanted.inventories))
        and there.trait_names in ((), wanted.trait_names)
        and there.aggregate_uuids in ((), wanted.aggregate_uuids)
    )


def _refuse_below_one(copy: LedgerCopy) -> None:
    """Raise AmountBelowOne for an amount below 1, which only an edit by hand can make."""
    for consumer, held in copy.consumers.items():
        for provider, row in held.amounts.items():
            below = [
                AmountBelowOne(consumer, provider, name, amount)
                for name, amount in row.items()
                if amount < 1
            ]
            if below:
                raise below[0]


def save(copy: LedgerCopy, path: Path) -> None:
    """Keep a copy in a file. Raises FileUnwritable."""
    files.write(path, msgspec.json.format(msgspec.json.encode(copy), indent=1) + b"\n")


def load(path: Path) -> LedgerCopy:
    """The copy in a file. Raises FileUnreadable."""
    with files.reading(path, "copy of a ledger"):
        copy = msgspec.json.decode(path.read_bytes(), type=LedgerCopy)
    if copy.format != FORMAT:
        reason = f"its format is {copy.format}, this Trueup reads {FORMAT}"
        raise files.FileUnreadable(str(path), "copy of a ledger", reason)
    return copy


def _provider(uuid: str, cloud: Cloud) -> tuple[ProviderCopy | None, frozenset[str]]:
    """A provider, and the consumers with allocations on it; None: it was deleted meanwhile."""
    node = changes.read(ProviderNode(uuid), cloud).state
    inventories = changes.read(InventoriesOf(uuid), cloud).state
    traits = changes.read(TraitsOf(uuid), cloud).state
    aggregates = changes.read(AggregatesOf(uuid), cloud).state
    allocations = cloud.placement.document(f"/resource_providers/{uuid}/allocations")
    match node, inventories, traits, aggregates:
        case ProviderFields(name, parent), Inventories(rows), Traits(names), Aggregates(uuids):
            found = ProviderCopy(uuid, name, parent, rows, names, uuids)
            return found, frozenset((allocations or {}).get("allocations", {}))
    return None, frozenset()


def _depth(uuid: str, parents: Mapping[str, str | None]) -> int:
    depth, parent = 0, parents.get(uuid)
    while parent is not None:
        depth, parent = depth + 1, parents.get(parent)
    return depth


def _name_customs(copy: LedgerCopy, cloud: Cloud) -> None:
    """Make the custom resource classes and traits that the copy needs."""
    classes = {name for provider in copy.providers for name in provider.inventories}
    traits = {name for provider in copy.providers for name in provider.trait_names}
    for path, names in (("/resource_classes", classes), ("/traits", traits)):
        for name in sorted(name for name in names if name.startswith(_CUSTOM)):
            response = cloud.placement.send("PUT", f"{path}/{name}", None)
            if response.status_code not in (201, 204):
                answer = because("answer", words=f"HTTP {response.status_code}")
                raise CopyRefused(f"{path}/{name}", answer)


def _create(provider: ProviderCopy, cloud: Cloud) -> None:
    for target, state in _parts(provider):
        _write(target, state, cloud)


def _parts(provider: ProviderCopy) -> Iterator[tuple[Target, State]]:
    uuid = provider.uuid
    yield ProviderNode(uuid), ProviderFields(provider.name, provider.parent)
    if provider.inventories:
        yield InventoriesOf(uuid), Inventories(dict.fromkeys(provider.inventories, _ENDLESS))
    if provider.trait_names:
        yield TraitsOf(uuid), Traits(provider.trait_names)
    if provider.aggregate_uuids:
        yield AggregatesOf(uuid), Aggregates(provider.aggregate_uuids)


def _write(target: Target, state: State, cloud: Cloud) -> None:
    found = changes.read(target, cloud)
    if found.state == state:
        return
    reply: Reply = changes.write(Change(target, found.state, state, found.version), cloud)
    if not reply.accepted:
        raise CopyRefused(_named(target), reply.reason)


def _named(target: Target) -> str:
    """The name of a written part, as `allocations UUID`."""
    kind = str(target.__struct_config__.tag).replace("-", " ")
    return f"{kind} {', '.join(parts_of(target))}"
