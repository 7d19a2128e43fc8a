# SPDX-License-Identifier: Apache-2.0
"""Steps: guarded, reversible changes of targets, as frozen values that files can hold.

A change is (target, before, after, version), and its inverse is a swap. Each kind of target has a
state of its own, and one file in changes/ that reads and writes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from trueup.reconcile.domain_definition import DomainDefinition, DomainIs, DomainText
from trueup.reconcile.facts import Allocations, Amounts, Facts, Instance
from trueup.reconcile.place_guards import PlaceGuard
from trueup.reconcile.whole_provider import ProviderContents, WholeProvider

# A version for each part of a target, by uuid: a generation, a revision number, or a digest.
# None: the part does not exist.
Version = Mapping[str, int | str | None]


class AllocationsOf(msgspec.Struct, frozen=True, tag="allocations"):
    """All that these consumers hold. Several of them are written at once or not at all."""

    consumers: tuple[str, ...]


class ProviderNode(msgspec.Struct, frozen=True, tag="provider"):
    """A resource provider itself: whether it exists, its name and its parent."""

    provider: str


class InventoriesOf(msgspec.Struct, frozen=True, tag="inventories"):
    """All inventories of a provider."""

    provider: str


class TraitsOf(msgspec.Struct, frozen=True, tag="traits"):
    """All traits of a provider."""

    provider: str


class AggregatesOf(msgspec.Struct, frozen=True, tag="aggregates"):
    """All aggregates of a provider."""

    provider: str


class Tree(msgspec.Struct, frozen=True, tag="tree"):
    """Inventories of several providers and the allocations of all their consumers: a reshape."""

    providers: tuple[str, ...]
    consumers: tuple[str, ...]


class PortBinding(msgspec.Struct, frozen=True, tag="port-binding"):
    """The binding profile of a Neutron port."""

    port: str


class ServiceRecord(msgspec.Struct, frozen=True, tag="compute-service"):
    """Nova's record of the compute service of a host: disabled, forced down, or deleted."""

    cell: str
    host: str


Target = (
    AllocationsOf | ProviderNode | InventoriesOf | TraitsOf | AggregatesOf | Tree | PortBinding
    | ServiceRecord | DomainDefinition | WholeProvider
)  # fmt: skip


class Held(msgspec.Struct, frozen=True, tag="allocations"):
    """What each consumer holds; None: nothing."""

    by_consumer: Mapping[str, Allocations | None]


class ProviderFields(msgspec.Struct, frozen=True, tag="provider"):
    """What a provider is called, and what it is part of; a root has no parent."""

    name: str
    parent: str | None = None


class InventoryFields(msgspec.Struct, frozen=True):
    """One inventory as Placement keeps it."""

    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float


class Inventories(msgspec.Struct, frozen=True, tag="inventories"):
    """A provider's inventories by resource class."""

    by_class: Mapping[str, InventoryFields]


class Traits(msgspec.Struct, frozen=True, tag="traits"):
    """A provider's traits, in order."""

    names: tuple[str, ...]


class Aggregates(msgspec.Struct, frozen=True, tag="aggregates"):
    """A provider's aggregates, in order."""

    uuids: tuple[str, ...]


class TreeContents(msgspec.Struct, frozen=True, tag="tree"):
    """Inventories by provider and class, and what each consumer holds."""

    inventories: Mapping[str, Mapping[str, InventoryFields]]
    by_consumer: Mapping[str, Allocations | None]


class Profile(msgspec.Struct, frozen=True, tag="port-binding"):
    """A port's binding profile."""

    content: Mapping[str, Any]


class ServiceFields(msgspec.Struct, frozen=True, tag="compute-service"):
    """What an operator may set of a compute service."""

    disabled: bool
    disabled_reason: str
    forced_down: bool


State = (
    Held | ProviderFields | Inventories | Traits | Aggregates | TreeContents | Profile
    | ServiceFields | DomainText | ProviderContents
)  # fmt: skip


class Change(msgspec.Struct, frozen=True):
    """Take a target from `before` to `after`, if it still has this version.

    None on either side: the target does not exist then.
    """

    target: Target
    before: State | None
    after: State | None
    version: Version


class InstanceState(msgspec.Struct, frozen=True, tag="instance"):
    """Guard: an instance is where it was, in the state it was in.

    Without `updated_at` that is not compared, as in an undo, which may come long after.
    """

    cell: str
    uuid: str
    host: str | None
    node: str | None
    vm_state: str | None
    task_state: str | None
    deleted: bool
    moving: bool
    updated_at: datetime | None


class MigrationState(msgspec.Struct, frozen=True, tag="migration"):
    """Guard: a migration of this instance still has this status."""

    cell: str
    instance: str
    migration: str
    status: str


class VersionIs(msgspec.Struct, frozen=True, tag="version"):
    """Guard: another target, which the step does not change, still has this version."""

    target: Target
    version: Version


class ServiceDown(msgspec.Struct, frozen=True, tag="service-down"):
    """Guard: the compute service of a host does not report, or is forced down."""

    cell: str
    host: str


class CellFresh(msgspec.Struct, frozen=True, tag="cell-fresh"):
    """Guard: some service of a cell has reported within so many seconds."""

    cell: str
    seconds: int


Guard = InstanceState | MigrationState | VersionIs | ServiceDown | CellFresh | DomainIs | PlaceGuard


class Step(msgspec.Struct, frozen=True):
    """Changes that are all written or all taken back, while every guard holds.

    `because` are the ids of the findings that it remedies; `needs` the ids of earlier steps that
    must be done before.
    """

    id: str
    changes: tuple[Change, ...]
    guards: tuple[Guard, ...]
    because: tuple[str, ...]
    needs: tuple[str, ...] = ()

    @property
    def consumers(self) -> tuple[str, ...]:
        """The consumers whose allocations it changes, in order."""
        return tuple(sorted({one for change in self.changes for one in consumers_in(change)}))

    @property
    def subjects(self) -> frozenset[str]:
        """Everything it changes, by uuid or name: what the limit of a plan counts."""
        return frozenset(part for change in self.changes for part in parts_of(change.target))


def parts_of(target: Target) -> tuple[str, ...]:
    """The subjects of a target, by uuid or name. A reshape is counted by its consumers."""
    match target:
        case AllocationsOf(consumers):
            return consumers
        case Tree(providers, consumers):
            return consumers or providers
        case ServiceRecord(_, host):
            return (host,)
        case PortBinding(uuid):
            return (uuid,)
        case DomainDefinition(host, uuid):
            # Several hosts may have a domain with the uuid of one instance.
            return (f"{uuid}@{host}",)
    return (target.provider,)


def consumers_in(change: Change) -> tuple[str, ...]:
    """The consumers whose allocations a change replaces."""
    match change.target:
        case AllocationsOf(consumers) | Tree(_, consumers):
            return consumers
    return ()


def held_in(state: State | None) -> Mapping[str, Allocations | None]:
    """What a state says that consumers hold; nothing, if it is about something else."""
    return state.by_consumer if isinstance(state, Held | TreeContents) else {}


def step_on(
    consumer: str, facts: Facts, after: Allocations | None, because: str, instance: Instance
) -> Step:
    """The step that takes a consumer from what it holds in these facts to `after`."""
    guard = instance_state(instance, moving=instance.uuid in facts.moving)
    return allocations_step({consumer: after}, facts, (because,), (guard,))


def allocations_step(
    after: Mapping[str, Allocations | None],
    facts: Facts,
    because: tuple[str, ...],
    guards: tuple[Guard, ...],
) -> Step:
    """The step that takes consumers, all at once, from what they hold in these facts to `after`.

    `facts.holdings` has each of them. The version is the consumers' generations. The generations of
    providers are no guard: on a busy host they change all the time, and Placement itself checks the
    capacity.
    """
    consumers = tuple(sorted(after))
    holdings = {one: facts.holdings[one] for one in consumers}
    change = Change(
        target=AllocationsOf(consumers),
        before=Held({one: row.allocations for one, row in holdings.items()}),
        after=Held({one: after[one] for one in consumers}),
        version={one: row.generation for one, row in holdings.items()},
    )
    return step_of((change,), guards, because)


def step_of(
    changes: tuple[Change, ...],
    guards: tuple[Guard, ...],
    because: tuple[str, ...],
    needs: tuple[str, ...] = (),
) -> Step:
    """A step with an id made from what it changes first."""
    target = changes[0].target
    kind = target.__struct_config__.tag
    first, *others = parts_of(target)
    more = f"+{len(others)}" if others else ""
    return Step(f"{kind}:{first}{more}", changes, guards, because, needs)


def swapped(step: Step, versions: Sequence[Version]) -> Step:
    """The inverse step, for changes that left these versions.

    Only the guards of instances are kept, without the time of their last update: an undo may come
    long after, and instances may have been updated rightly since.
    """
    pairs = zip(step.changes, versions, strict=True)
    changes = tuple(
        Change(change.target, change.after, change.before, version) for change, version in pairs
    )
    kept = (guard for guard in step.guards if isinstance(guard, InstanceState))
    guards = tuple(msgspec.structs.replace(guard, updated_at=None) for guard in kept)
    return msgspec.structs.replace(step, changes=tuple(reversed(changes)), guards=guards, needs=())


def at_versions(step: Step, versions: Sequence[Version]) -> Step:
    """The same step, for targets that are at these versions."""
    pairs = zip(step.changes, versions, strict=True)
    changes = tuple(msgspec.structs.replace(change, version=version) for change, version in pairs)
    return msgspec.structs.replace(step, changes=changes)


def instance_state(instance: Instance, moving: bool) -> InstanceState:
    """The guard that an instance stays as it was read."""
    return InstanceState(
        cell=instance.cell,
        uuid=instance.uuid,
        host=instance.host,
        node=instance.node,
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        deleted=instance.deleted,
        moving=moving,
        updated_at=instance.updated_at,
    )


def growth(before: Allocations | None, after: Allocations | None) -> dict[tuple[str, str], int]:
    """How much more is held afterwards (negative: less), by provider and resource class."""
    old, new = _flat(before.amounts if before else {}), _flat(after.amounts if after else {})
    changes = {key: new.get(key, 0) - old.get(key, 0) for key in old.keys() | new.keys()}
    return {key: amount for key, amount in sorted(changes.items()) if amount}


def step_growth(step: Step) -> dict[tuple[str, str], int]:
    """How much more all consumers of a step hold afterwards, by provider and resource class."""
    total: dict[tuple[str, str], int] = {}
    for before, after in _sides(step.changes):
        for key, amount in growth(before, after).items():
            total[key] = total.get(key, 0) + amount
    return {key: amount for key, amount in sorted(total.items()) if amount}


def releases(step: Step) -> bool:
    """Whether a consumer holds less of anything after a step, as where a claim is moved."""
    sides = (growth(before, after) for before, after in _sides(step.changes))
    return any(amount < 0 for side in sides for amount in side.values())


def gains(before: Allocations | None, after: Allocations | None) -> tuple[str, ...]:
    """The providers that hold more of some class afterwards, in order."""
    more = (uuid for (uuid, _), amount in growth(before, after).items() if amount > 0)
    return tuple(dict.fromkeys(more))


def _sides(changes: Iterable[Change]) -> list[tuple[Allocations | None, Allocations | None]]:
    return [
        (held_in(change.before).get(one), held_in(change.after).get(one))
        for change in changes
        for one in consumers_in(change)
    ]


def _flat(amounts: Amounts) -> dict[tuple[str, str], int]:
    return {(uuid, name): held for uuid, row in amounts.items() for name, held in row.items()}
