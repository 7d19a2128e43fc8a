# SPDX-License-Identifier: Apache-2.0
"""Order: in which order steps are valid, each when its turn comes, and what they do to capacity.

Pure. Two full hosts that each hold the other's instance have no such order: their steps become one,
which is written in one request.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from trueup.reconcile.facts import Facts
from trueup.reconcile.steps import (
    AllocationsOf,
    Change,
    Held,
    InventoriesOf,
    ProviderNode,
    State,
    Step,
    Tree,
    held_in,
    step_growth,
    step_of,
)

# provider uuid, resource class
Resource = tuple[str, str]


@dataclass(frozen=True, slots=True)
class HostEffect:
    """What a step does to the usage of one class of one provider."""

    provider: str
    name: str
    resource_class: str
    used_before: int
    used_after: int
    capacity: int


@dataclass(frozen=True, slots=True)
class ProjectEffect:
    """By how much a step changes what a project uses of one class, counted over all providers."""

    project: str
    resource_class: str
    change: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What one step does to capacity, and to what projects use."""

    step: str
    hosts: tuple[HostEffect, ...]
    projects: tuple[ProjectEffect, ...]


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A step that no order makes valid, and what it lacks, in words."""

    step: Step
    reason: str


@dataclass(frozen=True, slots=True)
class Ordered:
    """Steps in a valid order with their effects, and those for which there is no room."""

    steps: tuple[Step, ...]
    effects: tuple[Effect, ...]
    without_room: tuple[NoRoom, ...]


def ordered(steps: Sequence[Step], facts: Facts) -> Ordered:
    """Steps so that each finds the room it needs when its turn comes.

    Of a selection not all usage is known: there the room is only assumed, and Placement checks it.
    """
    room = _Room(facts)
    by_order = sorted(steps, key=lambda step: (_grows(step), step.id))
    waiting = {step.id: step for step in by_order}
    chosen: list[Step] = []
    effects: list[Effect] = []
    while waiting:
        ready = (step for step in waiting.values() if _ready(step, waiting, room))
        found = next(ready, None)
        taken = [found] if found else _exchange(tuple(waiting.values()), room)
        if not taken:
            break
        step = found or merged(taken)
        for one in taken:
            del waiting[one.id]
        chosen.append(step)
        effects.append(room.take(step))
    lacking = tuple(NoRoom(step, room.lacking(step)) for step in waiting.values())
    return Ordered(tuple(chosen), tuple(effects), lacking)


def merged(steps: Sequence[Step]) -> Step:
    """One step that changes the allocations of all these at once."""
    changes = [change for step in steps for change in step.changes]
    consumers = tuple(sorted(one for step in steps for one in step.consumers))
    before = {one: held for change in changes for one, held in held_in(change.before).items()}
    after = {one: held for change in changes for one, held in held_in(change.after).items()}
    version = {one: number for change in changes for one, number in change.version.items()}
    change = Change(AllocationsOf(consumers), Held(before), Held(after), version)
    guards = tuple(guard for step in steps for guard in step.guards)
    because = tuple(reason for step in steps for reason in step.because)
    return step_of((change,), guards, because)


class _Room:
    """Usage of each provider and class, as steps change it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._all_known = facts.hosts_in_scope is None
        self._used: Counter[Resource] = Counter()
        for amounts in facts.consumers.values():
            for uuid, held in amounts.items():
                self._used.update({(uuid, name): amount for name, amount in held.items()})
        # What steps that were taken have made of providers is not followed: Placement checks it.
        self._changed: set[str] = set()

    def fits(self, step: Step) -> bool:
        return not self._missing(step)

    def lacking(self, step: Step) -> str:
        """What a step lacks, in words."""
        words = []
        for (uuid, name), amount in self._missing(step).items():
            free = max(0, self._capacity(uuid, name) - self._used[uuid, name])
            words.append(f"{self._name(uuid)} has {free} of {name} left, and {amount} are needed")
        return "; ".join(words)

    def take(self, step: Step) -> Effect:
        """Count a step as written."""
        hosts = []
        for (uuid, name), amount in step_growth(step).items():
            before = self._used[uuid, name]
            self._used[uuid, name] += amount
            hosts.append(
                HostEffect(
                    uuid, self._name(uuid), name, before, before + amount,
                    self._capacity(uuid, name),
                )
            )  # fmt: skip
        self._changed |= {uuid for change in step.changes for uuid in _providers(change)}
        return Effect(step.id, tuple(hosts), project_effects(step))

    def _missing(self, step: Step) -> dict[Resource, int]:
        if not self._all_known:
            return {}
        own = {uuid for change in step.changes for uuid in _providers(change)} | self._changed
        return {
            (uuid, name): amount
            for (uuid, name), amount in step_growth(step).items()
            if uuid not in own
            and amount > 0
            and self._used[uuid, name] + amount > self._capacity(uuid, name)
        }

    def _capacity(self, uuid: str, name: str) -> int:
        provider = self._facts.providers.get(uuid)
        inventory = provider.inventories.get(name) if provider else None
        return inventory.capacity if inventory else 0

    def _name(self, uuid: str) -> str:
        return self._facts.provider_names.get(uuid, uuid)


def _ready(step: Step, waiting: Mapping[str, Step], room: _Room) -> bool:
    """Whether what a step needs is there: earlier steps, and room."""
    return waiting.keys().isdisjoint(step.needs) and room.fits(step)


def _exchange(waiting: Sequence[Step], room: _Room) -> list[Step]:
    """Steps that have room only at once: two of them, or all that change allocations only."""
    movable = [step for step in waiting if _only_allocations(step)]
    for pair in combinations(movable, 2):
        if room.fits(merged(pair)):
            return list(pair)
    return movable if len(movable) > 2 and room.fits(merged(movable)) else []


def _only_allocations(step: Step) -> bool:
    return not step.needs and all(isinstance(one.target, AllocationsOf) for one in step.changes)


def _grows(step: Step) -> bool:
    return any(amount > 0 for amount in step_growth(step).values())


def _providers(change: Change) -> Iterable[str]:
    """The providers whose own capacity a change may alter."""
    match change.target:
        case Tree(providers, _):
            return providers
        case ProviderNode(provider) | InventoriesOf(provider):
            return (provider,)
    return ()


def project_effects(step: Step) -> tuple[ProjectEffect, ...]:
    """By how much a step changes what each project uses of each class."""
    usage: Counter[tuple[str, str]] = Counter()
    for change in step.changes:
        _count(usage, change.before, -1)
        _count(usage, change.after, 1)
    return tuple(
        ProjectEffect(project, name, amount)
        for (project, name), amount in sorted(usage.items())
        if amount
    )


def _count(usage: Counter[tuple[str, str]], state: State | None, sign: int) -> None:
    owners = [held for held in held_in(state).values() if held is not None]
    for held in owners:
        for amounts in held.amounts.values():
            for name, amount in amounts.items():
                usage[held.project, name] += sign * amount
